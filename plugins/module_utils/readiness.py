# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what the answers of a server that starts mean, how long to wait before the next look, what ends the wait."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.llmops.sglang.plugins.module_utils import server_api

FOREIGN = "foreign"

GENERATION = "generation"
REQUESTS = "requests"
HTTP = "http"

# Releases before this one answer 200 on /health as soon as HTTP is up (entrypoints/http_server.py of 0.4.10 and 0.5.1).
FIRST_HONEST_HEALTH = (0, 5, 1)

# A look at a closed port costs the server nothing, and one at a starting server a log line: both may be frequent
# enough to see the moment of readiness within half a second. Whatever else happens is no hurry.
PAUSES = {server_api.REFUSED: 0.2, server_api.RESET: 0.2, "200": 0.2, "503": 0.3}
OTHER_PAUSE = 1.0

MEANINGS = {
    server_api.REFUSED: "the port refused connections: the server was still loading, or listens elsewhere"
    " (compare url with its --host and --port)",
    server_api.UNREACHABLE: "its address could not be reached: compare url with the server's --host",
    server_api.TIMEOUT: "it accepted connections and gave no answer",
    server_api.RESET: "it closed connections without an answer",
    server_api.GARBLED: "what answered does not speak HTTP as expected: compare url with the server's --port, and http"
    " with https",
    "503": "it answered 503: its warm-up did not end, or it was shutting down",
    "200": "it answered 200, but not often enough in a row",
}

END_OF_WAIT = {
    "401": "The server at {url} answers 401 (Unauthorized) on {path}: it wants the key that it was started with"
    " (--api-key; its admin key is refused there), and {key}.",
    "403": "The server at {url} answers 403 (Forbidden) on {path}: that endpoint is not open to the key in use.",
    "404": "The server at {url} answers 404 on {path}: its release has no such endpoint. Use /health.",
    server_api.TLS: "The server at {url} can't be asked over TLS: {error}. Give the CA as ca_path,"
    " or compare https with how the server was started.",
}


@dataclasses.dataclass(frozen=True)
class Readiness:
    """How a wait ended. ``ready`` is ``None`` where HTTP can't show it.

    ``proves`` is what the 200 stands for (see :func:`what_it_proves`), ``""`` when there was none. ``version`` is the
    server's release, where it said so.
    """

    ready: bool | None
    reason: str
    seconds: float
    history: list
    proves: str = ""
    version: str = ""

    def summary(self):
        return dataclasses.asdict(self)


class History:
    """What was seen, in order: one entry for each run of the same state."""

    def __init__(self):
        self._entries = []

    def add(self, state, seconds):
        """``seconds`` since the wait began."""
        if self.last == state:
            self._entries[-1]["count"] += 1
        else:
            self._entries.append({"state": state, "from_seconds": round(seconds, 3), "count": 1})

    @property
    def last(self):
        return self._entries[-1]["state"] if self._entries else ""

    def entries(self):
        return [dict(entry) for entry in self._entries]


def option_problem(options):
    """The first option of ``server_ready`` that makes no sense, as one sentence; ``""`` when all do."""
    if not options["path"].startswith("/"):
        return f"path is {options['path']!r}, which is no endpoint: it starts with a slash, like /health."
    for name in ("timeout", "request_timeout", "interval"):
        if options[name] is not None and not options[name] > 0:
            return f"{name} is {options[name]:g}: give a number of seconds above 0."
    if options["consecutive"] < 1:
        return f"consecutive is {options['consecutive']}: at least one answer of 200 is needed."
    if options["node_rank"] < 0:
        return f"node_rank is {options['node_rank']}: ranks count from 0."
    return ""


def of_follower(node_rank, trouble):
    """The :class:`Readiness` of a host that serves nothing itself.

    :arg trouble: what is wrong with its instance, ``""`` when it runs or is not known.
    """
    reason = trouble or (
        f"Not judged here: a server with node_rank {node_rank} answers 200 whatever happens. The host with rank 0"
        " stands for the group; on this one the verdict rests on the journal."
    )
    return Readiness(False if trouble else None, reason, 0.0, [])


def pause(state, interval=None):
    """Seconds until the next look: ``interval`` if the operator set one, else by what was seen last."""
    return interval if interval else PAUSES.get(state, OTHER_PAUSE)


def what_it_proves(path, version="", health_generates=True):
    """What a 200 on ``path`` proves.

    :arg version: release of the server, ``""`` when unknown: then it is taken for one since 0.5.1.
    :arg health_generates: false where ``SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION`` is off (since 0.5.6).
    :returns: ``generation`` (a token was generated), ``requests`` (it is past its warm-up and takes requests) or
        ``http`` (only that HTTP is up: such endpoints answer 200 before the warm-up ends).
    """
    if path == "/health_generate":
        return GENERATION
    if path == "/health":
        if version and release_numbers(version) < FIRST_HONEST_HEALTH:
            return HTTP
        return GENERATION if health_generates else REQUESTS
    return REQUESTS if path == "/ready" else HTTP


def companion_path(path, version=""):
    """The endpoint that must answer 200 too before the server counts as ready; ``""`` when ``path`` is enough."""
    if what_it_proves(path, version) != HTTP:
        return ""
    return "/health" if what_it_proves("/health", version) != HTTP else "/health_generate"


def release_numbers(version):
    """``"0.5.10.post1"`` to ``(0, 5, 10)``."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def end_of_wait(answer, url, path, has_key):
    """The sentence for an answer that waiting can't change; ``""`` for any other."""
    sentence = END_OF_WAIT.get(answer.state, "")
    key = "the one it got is another" if has_key else "got none (api_key or api_key_file)"
    return sentence.format(url=url, path=path, key=key, error=answer.error)


def instance_trouble(instance, invocation_id):
    """Why the instance that is waited for can't get ready any more; ``""`` while it can.

    :arg invocation_id: the instance that is waited for, ``""`` for whichever runs.
    """
    if not instance.exists:
        return f"There is no unit {instance.unit} on this host (systemd: {instance.load_state or 'unknown'})."
    if invocation_id and instance.invocation_id and instance.invocation_id != invocation_id:
        return (
            f"The instance {invocation_id} of {instance.unit} was replaced by {instance.invocation_id}: something"
            " restarted it."
        )
    # While systemd waits for RestartSec the unit counts as activating, and nothing of it runs.
    if not instance.alive or instance.sub_state.startswith("auto-restart"):
        which = f"The instance {invocation_id} of {instance.unit}" if invocation_id else instance.unit
        return f"{which} is dead: {_how_it_ended(instance)}."
    return ""


def listener_trouble(listener, unit, port):
    """The sentence about a process that holds the port and is not the instance's."""
    holder = (
        f"Port {port} is held by process {listener.pid} ({listener.command or 'no command line'}), started"
        f" {listener.started_at or 'at an unknown time'}"
    )
    if listener.in_cgroup:
        return f"{holder}, which was left over from an earlier instance of {unit}: end it and restart the unit."
    return (
        f"{holder}, which does not belong to {unit}: end it and restart the unit, or set verify_listener to false where"
        " the unit runs its server in a container."
    )


def timeout_reason(url, path, timeout, state):
    """Why the wait ended without readiness, from what was seen last."""
    meaning = MEANINGS.get(state) or f"it answered {state or 'nothing'}"
    return f"The server at {url} was not ready within {timeout:g} s: on {path}, {meaning}."


def ready_reason(path, shown_by, proves, seconds):
    """What the 200 on ``path`` stands for, in one sentence; ``shown_by`` is ``path`` or its companion."""
    proven = {
        GENERATION: "it has generated a token",
        REQUESTS: "its warm-up is over and it takes requests; that it generates is not shown by this endpoint",
        HTTP: "HTTP is up; that it generates is not shown by this endpoint",
    }
    paths = path if shown_by == path else f"{path} and {shown_by}"
    return f"The server answered 200 on {paths} after {seconds:.1f} s: {proven[proves]}."


def _how_it_ended(instance):
    state = f"{instance.active_state} ({instance.sub_state})"
    if not instance.invocation_id:
        return f"{state}, it was never started"
    if instance.result in ("signal", "core-dump"):
        return f"{state}, killed by signal {instance.exit_status}"
    return f"{state}, result {instance.result or 'unknown'}, exit status {instance.exit_status}"
