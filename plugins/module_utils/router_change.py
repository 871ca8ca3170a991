# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``router_worker`` does: a worker into its routers, out of them, or out of them and idle.

Everything that can be refused is refused before anything is changed.
"""

from __future__ import annotations

import contextlib
import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import (
    drain,
    router_capacity,
    router_record_file,
    router_settings,
    server_api,
)
from ansible_collections.llmops.sglang.plugins.module_utils.readiness_wait import ReadinessWait
from ansible_collections.llmops.sglang.plugins.module_utils.router_api import RouterError

# The server must be ready already; a busy one may answer 503 once, or late.
SECONDS_FOR_A_READY_SERVER = 30
NOT_ASKED = "No router was asked to send requests to it: wait for the server first, for example with server_ready."


class ChangeError(Exception):
    """The state was not reached; the text is one sentence or more for the operator. ``result`` is what is known."""

    def __init__(self, message, **result):
        super().__init__(message)
        self.result = result


@dataclasses.dataclass
class Server:
    """The server itself, asked directly: ``api`` is a :class:`server_api.ServerApi`, ``load`` a ``ServerLoad``."""

    api: object
    load: object

    @property
    def url(self):
        return self.api.address.url


@dataclasses.dataclass(frozen=True)
class Wishes:
    """The options that shape a change. ``records`` are settings by router url, from ``records`` or ``record_file``."""

    settings: dict = dataclasses.field(default_factory=dict)
    records: dict = dataclasses.field(default_factory=dict)
    record_file: str = ""
    allow_last: bool = False
    drain_timeout: float = 600
    go_on_when_busy: bool = False
    check_mode: bool = False


def admit(membership, server, wishes):
    """``present``: every router sends requests to the worker.

    :returns: the result as a dict. :raises ChangeError, router_api.RouterError: when it does not come to that.
    """
    places = membership.look()
    missing = [place for place in places if not place.worker or place.worker.draining]
    settings = {
        place.url: router_settings.merged(wishes.records.get(place.url), wishes.settings) for place in missing
    }
    result = _result(places, {place.url: settings.get(place.url, _known(place)) for place in places}, wishes.records)
    unfinished = missing + [place for place in places if place not in missing and place.worker.healthy is False]
    if unfinished:
        _refuse_unless(_unready(server))
    if not wishes.check_mode:
        with _failing_with(result):
            for place in unfinished:
                membership.put_in(place, settings.get(place.url, {}))
    return dict(result, changed=bool(missing), reason=_admitted(membership, missing, unfinished, wishes.check_mode))


def withdraw(membership, wishes):
    """``absent``: no router lists the worker. What it works on, it goes on with."""
    places, result = _prepared(membership, wishes)
    _take_out(membership, places, result, wishes)
    return dict(result, reason=_withdrawn(membership, places, wishes.check_mode))


def drain_out(membership, server, wishes):
    """``drained``: no router lists the worker, and it has finished all that it worked on."""
    places, result = _prepared(membership, wishes)
    load = server.load.read()
    _refuse_unless(_invisible(server, load, places, wishes.go_on_when_busy))
    taken = _take_out(membership, places, result, wishes)
    if wishes.check_mode:
        drained = drain.at_a_glance(load)
    else:
        drained = drain.wait_until_idle(server.load, server.url, wishes.drain_timeout)
    result["drain"] = drained.summary()
    if not (drained.idle or wishes.go_on_when_busy or wishes.check_mode):
        given_back = membership.give_back(taken, result["records"])
        raise ChangeError(f"{drained.reason} {given_back}".strip(), **result)
    return dict(result, reason=f"{_withdrawn(membership, places, wishes.check_mode)} {drained.reason}")


def _prepared(membership, wishes):
    """The routers' places, and the result as it will be once the worker is out."""
    places = membership.look()
    listed = [place for place in places if place.worker]
    for place in listed if not wishes.allow_last else ():
        unserved = router_capacity.left_unserved(place.worker, place.others)
        _refuse_unless(membership.last_worker(place.url, unserved) if unserved else "")
    records = dict(wishes.records, **{place.url: _known(place) for place in listed})
    return places, dict(_result(places, {}, records), changed=bool(listed))


def _take_out(membership, places, result, wishes):
    listed = [place for place in places if place.worker]
    if not listed or wishes.check_mode:
        return []
    if wishes.record_file:
        # Before the first removal, so that a run that is interrupted anywhere loses no setting.
        router_record_file.write_records(wishes.record_file, membership.worker_url, result["records"])
    with _failing_with(result):
        return membership.take_out(listed, result["records"], wishes.allow_last)


@contextlib.contextmanager
def _failing_with(result):
    """A router that fails on the way ends the change, with what is known by then."""
    try:
        yield
    except RouterError as error:
        raise ChangeError(str(error), **result) from error


def _unready(server):
    """Why the server must not get requests, ``""`` when it may. A router that gets a dead one goes on trying."""
    closed = server.api.accepts()
    if closed:
        return f"Nothing can be asked at {server.url}: {closed.error}. {NOT_ASKED}"
    ready = ReadinessWait(server.api, "/health", timeout=SECONDS_FOR_A_READY_SERVER).run()
    if not ready.ready:
        return f"{ready.reason} {NOT_ASKED}"
    answer = server.api.get("/v1/models")
    return _closed(server) if answer.status in (401, 403) else ""


def _invisible(server, load, places, go_on_when_busy):
    """Why waiting for the server would show nothing; ``""`` when it can show that it is idle."""
    elsewhere = "set server_url to the address under which this host reaches it"
    if load.state in ("401", "403"):
        return _closed(server)
    if load.state in (server_api.TLS, server_api.UNREACHABLE):
        return f"The server at {server.url} can't be asked whether it is idle: {load.error}. If it runs, {elsewhere}."
    if load.state == "404" or load.state == "200" and not load.seen:
        return (
            f"The server at {server.url} does not tell how many requests it works on: it has none of /v1/loads,"
            " /get_load and /metrics. Start it with --enable-metrics, or take it out with state=absent and wait in"
            " another way."
        )
    healthy = [place.url for place in places if place.worker and place.worker.healthy]
    if load.state == server_api.REFUSED and healthy and not go_on_when_busy:
        return (
            f"Nothing listens at {server.url} as seen from this host, but the router at {healthy[0]} calls the worker"
            f" healthy: {elsewhere}. If it is dead, wait until the router has noticed, or set on_deadline to continue."
        )
    return ""


def _closed(server):
    return (
        f"The server at {server.url} wants the key that it was started with (--api-key): give it as worker_api_key or"
        " worker_api_key_file. Without it a router would send it requests that it refuses."
    )


def _refuse_unless(trouble):
    if trouble:
        raise ChangeError(trouble)


def _known(place):
    return router_settings.settings_of(place.worker) if place.worker else {}


def _result(places, after, records):
    """``after``: the settings by router url that are there at the end; empty when the worker is in no router then."""
    state = "present" if after else "absent"
    return {
        "routers": [
            {"url": place.url, "api": place.router.generation, "before": _state(place.worker)} for place in places
        ],
        "records": records,
        "drain": None,
        "diff": {
            "before": {place.url: dict(_known(place), state=_state(place.worker)) for place in places},
            "after": {place.url: dict(after.get(place.url, {}), state=state) for place in places},
        },
    }


def _state(worker):
    if worker is None:
        return "absent"
    if worker.draining:
        return "draining"
    return "unhealthy" if worker.healthy is False else "present"


def _admitted(membership, missing, unfinished, check_mode):
    if missing:
        return f"{membership.worker_url} {_was(check_mode)} added to {_names(missing)}."
    if unfinished:
        return f"{membership.worker_url} is known to all routers; {_names(unfinished)} did not call it healthy before."
    return f"All routers send requests to {membership.worker_url} already."


def _withdrawn(membership, places, check_mode):
    listed = [place for place in places if place.worker]
    if not listed:
        return f"No router lists {membership.worker_url}."
    return f"{membership.worker_url} {_was(check_mode)} removed from {_names(listed)}."


def _was(check_mode):
    return "would be" if check_mode else "was"


def _names(places):
    return ", ".join(place.url for place in places)
