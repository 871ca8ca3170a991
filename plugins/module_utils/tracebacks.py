# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python tracebacks in a log, read line by line."""

from __future__ import annotations

import dataclasses
import re

HEADER = "Traceback (most recent call last):"
LONGEST_EXCEPTION = 2000
CHAINING = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
# Frames that only the main process has (sglang/launch_server.py, sglang/cli/).
MAIN_FRAMES = (
    "in _run_module_as_main",
    "/sglang/launch_server.py",
    "/sglang/cli/",
    "/bin/sglang",
    "in prepare_server_args",
    "in from_cli_args",
)
# Frames in which arguments are read and resolved, before the server prints them (sglang/srt/server_args.py).
ARGUMENT_FRAMES = (
    "in prepare_server_args",
    "in from_cli_args",
    "in __post_init__",
    "in resolve_once",
    "in run_resolution_pipeline",
)
# Frames that handle the draft model (sglang/srt/speculative/, sglang/srt/arg_groups/speculative_hook.py).
DRAFT_FRAME = re.compile(r"speculative|draft|eagle", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class EndedTraceback:
    """``process`` is ``scheduler``, ``warm-up``, ``main`` or ``other``; ``text`` the exception as printed.

    ``in_arguments`` and ``in_draft`` tell what was being done: reading arguments, handling the draft model.
    """

    process: str
    in_arguments: bool
    in_draft: bool
    text: str


def introduces_traceback(message):
    """Whether a traceback begins here: alone, or behind a sentence that says whose it is."""
    message = message[:300]
    return message.startswith(HEADER) or message.rstrip().endswith(HEADER)


class TracebackReader:
    """Takes the lines of one process from the first header on.

    ``rank`` is the tag of the line that began it; ``closed`` turns True with the first line that belongs to no further
    traceback of the chain.
    """

    def __init__(self, header, rank):
        self.rank = rank
        self.closed = False
        self._process = _process_named_by(header)
        self._in_arguments = False
        self._in_draft = False
        self._in_frames = True

    def feed(self, message, prefixed):
        """:returns: an :class:`EndedTraceback` when this line is its last one, else None."""
        if prefixed:
            self.closed = True
            return None
        if self._in_frames:
            return self._frame_or_exception(message)
        if message.startswith(HEADER):
            self._in_frames = True
            self._in_arguments = False
            self._in_draft = False
        elif message.strip() and message.strip() not in CHAINING:
            self.closed = True
        return None

    def _frame_or_exception(self, message):
        if not message.strip():
            return None
        if message[0] in " \t":
            self._note_frame(message)
            return None
        self._in_frames = False
        return EndedTraceback(
            self._process or "other", self._in_arguments, self._in_draft, message[:LONGEST_EXCEPTION]
        )

    def _note_frame(self, line):
        if not self._process and any(frame in line for frame in MAIN_FRAMES):
            self._process = "main"
        if any(frame in line for frame in ARGUMENT_FRAMES):
            self._in_arguments = True
        if line.startswith("  File ") and DRAFT_FRAME.search(line):
            self._in_draft = True


def _process_named_by(header):
    if " hit an exception: " in header:
        return "scheduler"
    if header.startswith("Initialization failed"):
        return "warm-up"
    return ""
