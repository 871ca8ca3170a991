# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wait for a server: looks at it until it is ready, can't get ready any more, or time is up."""

from __future__ import annotations

import time

from ansible_collections.llmops.sglang.plugins.module_utils import readiness, server_api, service

# A process that is just ending may still hold the port for a moment.
SECONDS_FOR_A_FOREIGNER_TO_LEAVE = 5.0
SECONDS_FOR_THE_RELEASE = 2.0
HEALTH_GENERATES = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"
CLOSED = ("", server_api.REFUSED, server_api.UNREACHABLE)


class ReadinessWait:
    """One wait.

    :arg api: a :class:`~server_api.ServerApi`; ``path`` is asked for.
    :arg watched: a :class:`~watched_instance.WatchedInstance`, or ``None`` without a unit.
    :arg timeout: seconds for the whole wait. ``request_timeout``: seconds for one answer.
    :arg interval: seconds between two looks; ``None`` adapts to what is seen.
    :arg consecutive: how many answers of 200 in a row make it ready.
    """

    def __init__(
        self,
        api,
        path,
        watched=None,
        timeout=1800,
        interval=None,
        consecutive=1,
        request_timeout=25,
        clock=time.monotonic,
        sleep=time.sleep,
    ):
        self._api = api
        self._path = path
        self._watched = watched
        self._timeout = timeout
        self._interval = interval
        self._consecutive = consecutive
        self._request_timeout = request_timeout
        self._clock = clock
        self._sleep = sleep
        self._start = clock()
        self._history = readiness.History()
        self._version = ""
        self._foreign_since = None
        self._shown_by = path

    def run(self):
        """:returns: a :class:`readiness.Readiness`. :raises service.ServiceError: when systemd does not answer."""
        in_a_row = 0
        while True:
            trouble = self._trouble()
            if trouble:
                return self._not_ready(trouble)
            answer = self._look()
            self._history.add(answer.state, self._seconds())
            trouble = readiness.end_of_wait(answer, self._api.address.url, self._path, self._api.has_key)
            if trouble:
                return self._not_ready(trouble)
            in_a_row = in_a_row + 1 if answer.ok else 0
            if in_a_row >= self._consecutive:
                ready = self._confirm()
                if ready:
                    return ready
            if self._remaining() <= 0:
                return self._not_ready(self._timeout_reason())
            self._sleep(min(readiness.pause(self._history.last, self._interval), self._remaining()))

    def _trouble(self, now=False):
        """What ends the wait, from the instance and from who holds its port."""
        if not self._watched:
            return ""
        trouble = self._watched.trouble(now)
        if trouble:
            return trouble
        trouble = self._watched.listener_trouble()
        self._foreign_since = (self._foreign_since or self._clock()) if trouble else None
        if trouble and self._clock() - self._foreign_since >= SECONDS_FOR_A_FOREIGNER_TO_LEAVE:
            return trouble
        return ""

    def _look(self):
        """One look. A closed port is found closed without HTTP, and a foreigner is not asked: it would get the key."""
        if self._foreign_since is not None:
            return server_api.Answer(readiness.FOREIGN)
        if self._history.last in CLOSED:
            closed = self._api.accepts()
            if closed:
                return closed
        answer = self._get(self._path)
        companion = readiness.companion_path(self._path, self._release()) if answer.ok else ""
        beside = self._get(companion) if companion else None
        if beside is None or beside.status == 404:
            self._shown_by = self._path
            return answer
        self._shown_by = companion
        return beside

    def _get(self, path):
        return self._api.get(path, max(0.1, min(self._request_timeout, self._remaining())))

    def _release(self):
        """The server's release, asked for once; ``""`` when it does not say."""
        if not self._version:
            _status, fields = self._api.server_info(SECONDS_FOR_THE_RELEASE)
            self._version = str((fields or {}).get("version") or "unknown")
        return "" if self._version == "unknown" else self._version

    def _confirm(self):
        """The answer counts if the instance still runs and it is the instance that answers."""
        trouble = self._trouble(now=True)
        if trouble:
            return self._not_ready(trouble)
        if self._foreign_since is not None:
            return None
        seconds = self._seconds()
        proves = readiness.what_it_proves(self._shown_by, self._release(), self._health_generates())
        reason = readiness.ready_reason(self._path, self._shown_by, proves, seconds)
        return readiness.Readiness(True, reason, seconds, self._history.entries(), proves, self._release())

    def _health_generates(self):
        if not self._watched:
            return True
        environment = service.process_environment(self._watched.instance.main_pid)
        return environment.get(HEALTH_GENERATES, "true").lower() not in ("0", "false", "no", "n")

    def _not_ready(self, reason):
        return readiness.Readiness(False, reason, self._seconds(), self._history.entries())

    def _timeout_reason(self):
        if self._foreign_since is not None:
            return self._watched.listener_trouble()
        return readiness.timeout_reason(self._api.address.url, self._path, self._timeout, self._history.last)

    def _seconds(self):
        return round(self._clock() - self._start, 3)

    def _remaining(self):
        return self._start + self._timeout - self._clock()
