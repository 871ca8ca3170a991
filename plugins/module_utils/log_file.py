# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: a log that was captured to a file, as the server printed it or as ``journalctl -o json --all`` did."""

from __future__ import annotations

import os
import stat

from ansible_collections.llmops.sglang.plugins.module_utils import journal_entries
from ansible_collections.llmops.sglang.plugins.module_utils.journal import JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord

CHUNK = 1 << 16
HEAD = 1 << 13
JOURNAL_FILE_MAGIC = b"LPKSHHRH"
TEXT_CONTROLS = b"\t\n\r\x1b\x00\x08\x0c"
UNITS_TO_NAME = 5


class LogFileError(JournalError):
    """The file is no log that can be judged; the text is one sentence for the operator."""


class LogFile:
    """One captured log.

    :arg unit: of a captured journal, the records of this unit count, and of those the last instance's.
    :arg invocation_id: of a captured journal, the records of this instance count, whatever its unit.
    :raises LogFileError: when the file is missing, unreadable, empty or no log, or holds no record of what was asked.
    """

    def __init__(self, path, unit, invocation_id=""):
        self._path = path
        self.losses = journal_entries.Losses()
        self._check()
        self.is_journal = _is_entry(self._first_line())
        self.invocation_id = self._choose_instance(unit, invocation_id) if self.is_journal else ""

    def records(self):
        """Yield the :class:`LogRecord` of the file, in order. A record's cursor is the number of its line."""
        return self._journal_records() if self.is_journal else self._plain_records()

    def _plain_records(self):
        lines = journal_entries.LineSplitter(journal_entries.TEXT_LIMIT)
        number = 0
        for chunk in self._chunks():
            for line in lines.feed(chunk):
                number += 1
                yield _plain_record(line, number)
        for line in lines.end():
            yield _plain_record(line, number + 1)

    def _journal_records(self):
        origin_of = journal_entries.of_instance(self.invocation_id) if self.invocation_id else _origin_without_id
        entries = journal_entries.EntryReader(origin_of)
        self.losses = entries.losses
        for chunk in self._chunks():
            yield from entries.feed(chunk)
        yield from entries.end()

    def _choose_instance(self, unit, invocation_id):
        """The InvocationID to read; ``""`` when the captured entries carry none."""
        newest = {}
        for entry in self._entries():
            instance = entry.get("_SYSTEMD_INVOCATION_ID")
            if not isinstance(instance, str):
                continue
            if instance == invocation_id:
                return invocation_id
            instances = newest.setdefault(str(entry.get("_SYSTEMD_UNIT", "")), {})
            instances.setdefault(instance, len(instances))
        if invocation_id:
            raise LogFileError(
                "log_file %s holds no record of the instance %s: leave invocation_id out to judge the last one in it."
                % (self._path, invocation_id)
            )
        if not newest:
            return ""
        chosen = newest.get(unit) or (next(iter(newest.values())) if len(newest) == 1 else None)
        if chosen is None:
            raise LogFileError(
                "log_file %s holds no record of %s but of %s: name one of them with unit."
                % (self._path, unit, _listed(newest))
            )
        return max(chosen, key=chosen.get)

    def _entries(self):
        lines = journal_entries.LineSplitter(journal_entries.LINE_LIMIT)
        for chunk in self._chunks():
            yield from filter(None, map(journal_entries.parse_entry, lines.feed(chunk)))
        yield from filter(None, map(journal_entries.parse_entry, lines.end()))

    def _chunks(self):
        with self._open() as source:
            yield from iter(lambda: source.read(CHUNK), b"")

    def _first_line(self):
        with self._open() as source:
            lines = iter(lambda: source.readline(journal_entries.LINE_LIMIT), b"")
            return next((line for line in lines if line.strip()), b"")

    def _check(self):
        try:
            status = os.stat(self._path)
        except OSError as error:
            raise self._cannot_read(error) from error
        if not stat.S_ISREG(status.st_mode):
            raise LogFileError("log_file is %s, which is no regular file." % self._path)
        with self._open() as source:
            head = source.read(HEAD)
        if not head.strip() and status.st_size <= HEAD:
            raise LogFileError("log_file %s is empty: there is nothing to judge in it." % self._path)
        if head.startswith(JOURNAL_FILE_MAGIC):
            raise LogFileError(
                "log_file %s is a file of the journal itself: give its folder as journal_directory, and the instance as"
                " invocation_id." % self._path
            )
        if _is_binary(head):
            raise LogFileError(
                "log_file %s is no text: give the lines as the server printed them, or the output of"
                " journalctl -o json --all." % self._path
            )

    def _open(self):
        try:
            return open(self._path, "rb")
        except OSError as error:
            raise self._cannot_read(error) from error

    def _cannot_read(self, error):
        return LogFileError("log_file is %s, which can't be read on this host: %s." % (self._path, error.strerror))


def _plain_record(line, number):
    return LogRecord(text=line.decode("utf-8", "replace"), cursor="line %d" % number)


def _is_entry(line):
    entry = journal_entries.parse_entry(line) or {}
    return "MESSAGE" in entry and ("__CURSOR" in entry or "__REALTIME_TIMESTAMP" in entry)


def _is_binary(head):
    """Whether more than a twentieth of the bytes are ones that no log prints. Single NUL bytes do occur in logs."""
    odd = sum(byte < 32 and byte not in TEXT_CONTROLS or byte == 127 for byte in head)
    return odd * 20 > len(head) or head.count(0) * 4 > len(head)


def _origin_without_id(entry):
    return "systemd" if entry.get("_PID") == "1" and "UNIT" in entry else "service"


def _listed(names):
    shown = sorted(name or "no unit" for name in names)
    more = len(shown) - UNITS_TO_NAME
    return ", ".join(shown[:UNITS_TO_NAME]) + (" and %d more" % more if more > 0 else "")
