# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SIGTERM: finish what is running, then leave with exit code 0."""

from __future__ import annotations

import os
import queue
import signal
import time
from collections.abc import Iterable

from sglang.failures import say_kill_process_tree
from sglang.server import DRAINING, Server

LOOK_SECONDS = 0.05
REPORT_SECONDS = 5


def put_signals(signums: Iterable[int], news: queue.SimpleQueue) -> None:
    """From now on each of these signals is put into ``news``, and nothing else is done at once.

    A handler interrupts the main thread anywhere, also while that holds the lock of the console or of an Event, for
    which the handler would wait for ever. ``SimpleQueue.put`` is the one call that the library says is reentrant.
    """
    for signum in signums:
        signal.signal(signum, lambda signum, frame: news.put(signum))


def ignore_signals(signums: Iterable[int]) -> None:
    """For one who ends already: Python takes its own handlers away shortly before it exits, but leaves this."""
    for signum in signums:
        signal.signal(signum, signal.SIG_IGN)


class Shutdown:
    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self, server: Server):
        self._server = server
        self._asked: queue.SimpleQueue = queue.SimpleQueue()
        put_signals(self.SIGNALS, self._asked)

    def wait(self) -> None:
        self._asked.get()
        ignore_signals(self.SIGNALS)

    def drain(self) -> None:
        server, console = self._server, self._server.run.console
        console.log("SIGTERM received. signum=None frame=None. Draining requests and shutting down...", "warning")
        server.status = DRAINING
        reported = time.monotonic()
        while server.open_requests:
            time.sleep(LOOK_SECONDS)
            if time.monotonic() - reported >= REPORT_SECONDS:
                self._report()
                reported = time.monotonic()
        self._report()

    def leave(self) -> None:
        console = self._server.run.console
        release = self._server.run.release
        if release.says_kill_process_tree:
            say_kill_process_tree(console, including_parent=not release.stops_uvicorn_itself)
        if release.stops_uvicorn_itself:
            console.uvicorn("Shutting down")
            console.uvicorn("Waiting for application shutdown.")
            console.uvicorn("Application shutdown complete.")
            console.uvicorn(f"Finished server process [{os.getpid()}]")

    def _report(self) -> None:
        left = sorted(self._server.open_requests)
        self._server.run.console.log(
            f"Gracefully exiting... Remaining number of requests {len(left)}. "
            f"Remaining requests remaining_rids={left}."
        )
