# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of the log as SGLang and uvicorn shape them: ``[TIME TP0] text``."""

from __future__ import annotations

import sys
import threading
import time

LEVELS = ("debug", "info", "warning", "error", "critical")


class Console:
    """Lines of several threads never mix. ``tag`` is the rank's, for example `` TP0``."""

    def __init__(self, level: str = "info", milliseconds: bool = False):
        self._threshold = LEVELS.index(level) if level in LEVELS else LEVELS.index("info")
        self._milliseconds = milliseconds
        self._lock = threading.Lock()

    def log(self, text: str, level: str = "info", tag: str = "") -> None:
        if self._shows(level):
            self.raw(f"[{self._now()}{tag}] {text}")

    def uvicorn(self, text: str, level: str = "info") -> None:
        self.log(f"{level.upper() + ':':9} {text}", level)

    def access(self, text: str) -> None:
        """uvicorn writes its access log to stdout, everything else goes to stderr."""
        if self._shows("info"):
            self.raw(f"[{self._now()}] INFO:     {text}", sys.stdout)

    def raw(self, text: str, stream=None) -> None:
        with self._lock:
            print(text, file=stream or sys.stderr, flush=True)

    def _shows(self, level: str) -> bool:
        return LEVELS.index(level) >= self._threshold

    def _now(self) -> str:
        now = time.time()
        milliseconds = f".{int(now % 1 * 1000):03}" if self._milliseconds else ""
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + milliseconds
