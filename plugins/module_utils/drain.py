# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wait until a server that gets no new requests has finished those it has."""

from __future__ import annotations

import dataclasses
import time

from ansible_collections.llmops.sglang.plugins.module_utils import server_api

# A request may be on its way between the endpoint and the scheduler, so one reading of zero shows nothing.
READS_IN_A_ROW = 3
PAUSE = 0.5
# Tokens that stay in the cache and do not change for so long belong to no prefill: no chunk of one takes longer.
SECONDS_OF_STILL_TOKENS = 10.0


@dataclasses.dataclass(frozen=True)
class Drain:
    """How a wait ended. ``requests`` is what was seen last, ``None`` when nothing could be seen."""

    idle: bool
    reason: str
    seconds: float
    requests: int | None

    def summary(self):
        return dataclasses.asdict(self)


class Stillness:
    """Pure: from one reading of the load after the other to whether the server works on anything."""

    def __init__(self):
        self._in_a_row = 0
        self._tokens = None
        self._still_since = None

    def add(self, load, now):
        """Take in a :class:`server_load.Load` that was read at ``now`` (seconds); say whether the server is idle."""
        if load.state == server_api.REFUSED:
            load = dataclasses.replace(load, requests=0, tokens=0)
        if load.requests != 0:
            self._in_a_row, self._still_since = 0, None
            return False
        if load.tokens and (self._still_since is None or load.tokens != self._tokens):
            self._in_a_row, self._still_since = 0, now
        self._tokens = load.tokens
        self._in_a_row += 1
        if self._in_a_row < READS_IN_A_ROW:
            return False
        return not load.tokens or now - self._still_since >= SECONDS_OF_STILL_TOKENS


def wait_until_idle(server_load, url, timeout, clock=time.monotonic, sleep=time.sleep):
    """Wait until the server is idle, at most ``timeout`` seconds.

    A server whose port refuses connections is idle: there is none.

    :arg server_load: a :class:`server_load.ServerLoad`; ``url`` is the server's, for the sentence.
    :returns: a :class:`Drain`.
    """
    start = clock()
    stillness = Stillness()
    load = None
    while True:
        remaining = start + timeout - clock()
        load = server_load.read(max(1.0, min(10.0, remaining)))
        idle = stillness.add(load, clock())
        seconds = round(clock() - start, 3)
        if idle:
            return Drain(True, _idle_reason(url, load, seconds), seconds, 0)
        if remaining <= 0:
            return Drain(False, _busy_reason(url, load, timeout), seconds, load.requests)
        sleep(min(PAUSE, remaining))


def at_a_glance(load):
    """The :class:`Drain` of one reading, without waiting for anything."""
    requests = 0 if load.state == server_api.REFUSED else load.requests
    seen = "an unknown number of requests" if requests is None else f"{requests} requests"
    return Drain(requests == 0, f"Now it works on {seen}.", 0.0, requests)


def _idle_reason(url, load, seconds):
    if load.state == server_api.REFUSED:
        return f"Nothing listens at {url}: no request runs there."
    return f"The server at {url} was idle after {seconds:.1f} s ({load.endpoint})."


def _busy_reason(url, load, timeout):
    if not load.seen:
        seen = load.error or f"{load.endpoint} answers {load.state}"
        return f"The server at {url} did not show within {timeout:g} s that it is idle: {seen}."
    if load.requests:
        return f"The server at {url} still works on {load.requests} requests after {timeout:g} s ({load.endpoint})."
    return (
        f"The server at {url} has no request running or waiting after {timeout:g} s, but {load.tokens} tokens in its"
        f" cache are still in use ({load.endpoint}): a long prompt may be on its way through."
    )
