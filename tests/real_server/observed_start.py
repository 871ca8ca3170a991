# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one start of a server shows from outside, whoever it is: the real SGLang or the stand-in."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Protocol

from ansible_collections.llmops.sglang.plugins.module_utils import server_log
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi

ENDPOINTS = ("/health", "/health_generate", "/ready", "/model_info", "/server_info", "/v1/models", "/metrics")
DEADLINE = 120.0
POLL_SECONDS = 0.05
# These come when they like, some of them because somebody asks.
NOT_OF_THE_START = (server_log.OutputSeen, server_log.SecretsShown, server_log.DecodeBatch, server_log.BootLine)


@dataclasses.dataclass(frozen=True)
class ObservedStart:
    """``statuses``: for each endpoint what it answered over time, each change once, such as refused, 503, 200."""

    statuses: dict[str, list[str]]
    events: list[str]
    server_info: dict
    meta_info: dict
    metrics: set[str]


class Server(Protocol):
    """What can be observed. ``start`` returns at once."""

    url: str

    def start(self) -> None: ...

    def log(self) -> str: ...


def observe(server: Server) -> ObservedStart:
    """Start a server and ask every endpoint from the first moment until all answer 200."""
    statuses: dict[str, list[str]] = {endpoint: [] for endpoint in ENDPOINTS}
    watchers = [threading.Thread(target=_watch, args=(server.url, *item)) for item in statuses.items()]
    for watcher in watchers:
        watcher.start()
    server.start()
    for watcher in watchers:
        watcher.join()
    assert statuses["/health"][-1] == "200", f"{statuses}\n{server.log()}"
    api = ServerApi(server.url, timeout=30)
    meta_info = api.generate("Hello world", 64, 60).json()["meta_info"]
    metrics = _speculation(api.get("/metrics").body)
    return ObservedStart(statuses, event_types(server.log()), api.server_info()[1], meta_info, metrics)


def event_types(log: str) -> list[str]:
    """The kinds of events of a start up to its readiness, in order; a kind that repeats itself stands once."""
    parser = server_log.LogParser()
    kinds: list[str] = []
    for line in log.splitlines():
        for event in parser.feed(server_log.LogRecord(line)):
            kind = type(event).__name__
            if not isinstance(event, NOT_OF_THE_START) and kinds[-1:] != [kind]:
                kinds.append(kind)
            if isinstance(event, server_log.Ready):
                return kinds
    raise AssertionError(f"the server never said that it is ready:\n{log}")


def _watch(url: str, endpoint: str, seen: list[str]) -> None:
    api = ServerApi(url, timeout=30)
    until = time.monotonic() + DEADLINE
    while seen[-1:] != ["200"] and time.monotonic() < until:
        state = api.get(endpoint).state
        if seen[-1:] != [state]:
            seen.append(state)
        time.sleep(POLL_SECONDS)


def _speculation(metrics: str) -> set[str]:
    """The names of what is measured of speculation, without labels and values."""
    names = {line.partition("{")[0].partition(" ")[0] for line in metrics.splitlines()}
    return {name for name in names if name.startswith("sglang:spec_")}
