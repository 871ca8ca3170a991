# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``journalctl -o json --all`` prints, to log records. Pure: bytes in, records out.

Field meanings are those of systemd.journal-fields(7), the JSON forms those of journalctl(1), systemd 239 and newer.
"""

from __future__ import annotations

import datetime
import json

from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord

FIELDS = (
    "MESSAGE",
    "MESSAGE_ID",
    "_PID",
    "_STREAM_ID",
    "_LINE_BREAK",
    "_SYSTEMD_INVOCATION_ID",
    "INVOCATION_ID",
    "OBJECT_SYSTEMD_INVOCATION_ID",
)

# SD_MESSAGE_JOURNAL_DROPPED: journald's own "Suppressed N messages from UNIT".
MESSAGES_DROPPED = "a596d6fe7bfa4994828e72309e95d61e"

# A message of 1 MiB that journalctl prints as a list of integers takes 4 MiB and a bit.
LINE_LIMIT = 6 << 20
TEXT_LIMIT = 2 << 20
OPEN_LINES_LIMIT = 64

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class LineSplitter:
    """Chunks of bytes to whole lines; of a line longer than ``limit`` bytes the rest is dropped."""

    def __init__(self, limit):
        self._limit = limit
        self._parts = []
        self._size = 0

    def feed(self, chunk):
        first, *others = chunk.split(b"\n")
        self._keep(first)
        if not others:
            return []
        lines = [self._take()] + [line[: self._limit] for line in others[:-1]]
        self._keep(others[-1])
        return lines

    def end(self):
        """The last line, when no newline ended it."""
        return [self._take()] if self._parts else []

    def _keep(self, part):
        part = part[: self._limit - self._size]
        if part:
            self._parts.append(part)
            self._size += len(part)

    def _take(self):
        line = b"".join(self._parts)
        self._parts, self._size = [], 0
        return line


def parse_entry(line):
    """One line of JSON to a dict of journal fields; ``None`` for anything else."""
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def message_bytes(value):
    """The bytes of a journal field, whichever of its JSON forms it comes in.

    A string is text, a list of integers is a value that is no plain text, a list of those is a field that was given
    several times, null is a value that was left out for its size (``--all`` was not given).
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if not isinstance(value, list):
        return b""
    try:
        return bytes(value)
    except (TypeError, ValueError):
        return b"\n".join(message_bytes(item) for item in value if not _nests(item))


def of_instance(invocation_id):
    """A function that tells who wrote a journal entry about this instance: ``service``, ``systemd``, ``journald``
    or, for an entry that is not about it, ``None``."""

    def origin(entry):
        if entry.get("_SYSTEMD_INVOCATION_ID") == invocation_id:
            return "service"
        # Any process may send the field INVOCATION_ID; journald itself vouches for _PID.
        if entry.get("INVOCATION_ID") == invocation_id and entry.get("_PID", "1") == "1":
            return "systemd"
        if entry.get("OBJECT_SYSTEMD_INVOCATION_ID") == invocation_id and entry.get("MESSAGE_ID") == MESSAGES_DROPPED:
            return "journald"
        return None

    return origin


def matches(invocation_id):
    """The same choice as :func:`of_instance`, as match arguments of journalctl."""
    return [
        "_SYSTEMD_INVOCATION_ID=" + invocation_id,
        "+",
        "INVOCATION_ID=" + invocation_id,
        "+",
        "OBJECT_SYSTEMD_INVOCATION_ID=" + invocation_id,
        "MESSAGE_ID=" + MESSAGES_DROPPED,
    ]


class Losses:
    """How many entries could not be used: ``unreadable`` ones are no JSON, ``without_text`` ones have no message."""

    def __init__(self):
        self.unreadable = 0
        self.without_text = 0


class EntryReader:
    """Chunks of ``journalctl -o json --all`` to :class:`LogRecord`, in order, with split lines joined again.

    :arg origin_of: tells for an entry who wrote it, or ``None`` when it is none of ours.
    """

    def __init__(self, origin_of):
        self._origin_of = origin_of
        self._lines = LineSplitter(LINE_LIMIT)
        self._open_lines = {}
        self.losses = Losses()

    def feed(self, chunk):
        return self._records(self._lines.feed(chunk))

    def end(self):
        """What is left when nothing more comes: the last line, and lines whose end was never written."""
        records = self._records(self._lines.end())
        records += [open_line.record() for open_line in self._open_lines.values()]
        self._open_lines.clear()
        return records

    def _records(self, lines):
        records = []
        for line in lines:
            if not line.strip():
                continue
            entry = parse_entry(line)
            if entry is None:
                self.losses.unreadable += 1
                continue
            origin = self._origin_of(entry)
            if origin is not None:
                records += self._join(entry, origin)
        return records

    def _join(self, entry, origin):
        if entry.get("MESSAGE") is None:
            self.losses.without_text += 1
        # Where a long line was cut may be in the middle of a character, so bytes are joined, not text.
        key = (str(entry.get("_STREAM_ID")), str(entry.get("_PID")))
        open_line = self._open_lines.pop(key, None) or _OpenLine(entry, origin)
        open_line.add(message_bytes(entry.get("MESSAGE")))
        if entry.get("_LINE_BREAK") != "line-max":
            return [open_line.record()]
        finished = []
        if len(self._open_lines) >= OPEN_LINES_LIMIT:
            finished.append(self._open_lines.pop(next(iter(self._open_lines))).record())
        self._open_lines[key] = open_line
        return finished


class _OpenLine:
    """A line that journald may have cut into several entries; time and cursor are the first one's."""

    def __init__(self, entry, origin):
        self._entry = entry
        self._origin = origin
        self._parts = []
        self._size = 0

    def add(self, part):
        self._parts.append(part[: TEXT_LIMIT - self._size])
        self._size += len(self._parts[-1])

    def record(self):
        pid = self._entry.get("_PID")
        return LogRecord(
            text=b"".join(self._parts).decode("utf-8", "replace"),
            timestamp=utc_timestamp(self._entry.get("__REALTIME_TIMESTAMP")),
            pid=int(pid) if isinstance(pid, str) and pid.isdecimal() and len(pid) < 12 else None,
            cursor=_text(self._entry.get("__CURSOR")),
            origin=self._origin,
        )


def utc_timestamp(microseconds):
    """Microseconds since 1970, as the journal writes them, to ISO 8601 in UTC; ``""`` when it is no such number."""
    try:
        moment = EPOCH + datetime.timedelta(microseconds=int(microseconds))
    except (TypeError, ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _nests(value):
    return isinstance(value, list) and any(isinstance(item, list) for item in value)


def _text(value):
    return value if isinstance(value, str) else ""
