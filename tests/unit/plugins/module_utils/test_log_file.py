# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.log_file import LogFile, LogFileError

UNIT = "sglang.service"
FIRST = "a" * 32
SECOND = "b" * 32


def said(message, instance=FIRST, unit=UNIT, **fields):
    return dict(
        {
            "__CURSOR": "s=1",
            "__REALTIME_TIMESTAMP": "1772366400000000",
            "MESSAGE": message,
            "_PID": "7",
            "_SYSTEMD_UNIT": unit,
            "_SYSTEMD_INVOCATION_ID": instance,
        },
        **fields,
    )


def about(message, instance=FIRST, unit=UNIT):
    return {
        "__CURSOR": "s=2",
        "__REALTIME_TIMESTAMP": "1772366400000001",
        "MESSAGE": message,
        "_PID": "1",
        "UNIT": unit,
        "INVOCATION_ID": instance,
    }


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "sglang.log"
        if isinstance(content, list):
            content = b"".join(json.dumps(entry).encode() + b"\n" for entry in content)
        path.write_bytes(content)
        return str(path)

    return write


def read(path, unit=UNIT, invocation_id=""):
    return [(record.origin, record.text) for record in LogFile(path, unit, invocation_id).records()]


def test_plain_lines_come_with_their_numbers(write):
    log = LogFile(write(b"one\r\n\ntwo \xff\x00 \x1b[1m\nlast without end"), UNIT)
    records = list(log.records())
    assert [(record.text, record.cursor) for record in records] == [
        ("one\r", "line 1"),
        ("", "line 2"),
        ("two \ufffd\x00 \x1b[1m", "line 3"),
        ("last without end", "line 4"),
    ]
    assert {(record.origin, record.timestamp, record.pid) for record in records} == {("service", "", None)}
    assert (log.is_journal, log.invocation_id) == (False, "")


def test_a_captured_journal_is_recognised(write):
    log = LogFile(write([about("Started"), said("up")]), UNIT)
    records = list(log.records())
    assert [(record.origin, record.text) for record in records] == [("systemd", "Started"), ("service", "up")]
    assert records[1].timestamp == "2026-03-01T12:00:00.000000Z"
    assert (log.is_journal, log.invocation_id) == (True, FIRST)


def test_a_first_entry_longer_than_any_buffer_is_recognised(write):
    assert LogFile(write([said("x" * 200000)]), UNIT).is_journal


@pytest.mark.parametrize(
    "line", [b'{"message": "a logger that prints JSON"}\n', b'{"MESSAGE": "no entry"}\n', b"{}\n[]\n"]
)
def test_a_server_that_logs_json_is_no_journal(write, line):
    assert not LogFile(write(line), UNIT).is_journal


def test_of_several_instances_the_last_is_read(write):
    path = write(
        [said("old"), about("Started B", SECOND), said("new", SECOND), about("A: exited", FIRST), said("late", FIRST)]
    )
    assert read(path) == [("systemd", "Started B"), ("service", "new")]


def test_an_instance_that_is_asked_for_is_read(write):
    path = write([said("old"), said("new", SECOND)])
    assert read(path, invocation_id=FIRST) == [("service", "old")]


def test_an_instance_that_is_not_there_is_said(write):
    with pytest.raises(LogFileError, match="holds no record of the instance c{32}: leave invocation_id out"):
        LogFile(write([said("line")]), UNIT, "c" * 32)


def test_the_other_units_in_a_capture_are_left_out(write):
    path = write([said("mine"), said("of nginx", SECOND, "nginx.service")])
    assert read(path) == [("service", "mine")]


def test_the_only_unit_in_a_capture_needs_no_name(write):
    assert read(write([said("line", unit="sglang@a.service")])) == [("service", "line")]


def test_several_units_none_of_which_is_asked_for_are_named(write):
    units = ["sglang@%s.service" % letter for letter in "abcdefg"]
    path = write([said("line", "%032x" % number, unit) for number, unit in enumerate(units)])
    with pytest.raises(LogFileError) as error:
        LogFile(path, UNIT)
    assert str(error.value).endswith(
        "holds no record of sglang.service but of sglang@a.service, sglang@b.service, sglang@c.service,"
        " sglang@d.service, sglang@e.service and 2 more: name one of them with unit."
    )


def test_entries_that_tell_no_instance_are_all_read(write):
    bare = {"__CURSOR": "s=1", "MESSAGE": "line"}
    assert read(write([bare, dict(bare, _PID="1", UNIT=UNIT)])) == [("service", "line"), ("systemd", "line")]


def test_messages_that_were_left_out_are_counted(write):
    log = LogFile(write([said(None), said("line")]), UNIT)
    assert [record.text for record in log.records()] == ["", "line"]
    assert log.losses.without_text == 1


@pytest.mark.parametrize("content", [b"", b"\n \n\t"])
def test_an_empty_file_is_said(write, content):
    with pytest.raises(LogFileError, match=r"^log_file /\S+ is empty: there is nothing to judge in it.$"):
        LogFile(write(content), UNIT)


@pytest.mark.parametrize(
    "content",
    [gzip.compress(os.urandom(5000)), os.urandom(9000), "text as UTF-16".encode("utf-16"), b"\x7fELF\x02" * 9],
)
def test_a_binary_file_is_said(write, content):
    with pytest.raises(LogFileError, match="is no text"):
        LogFile(write(content), UNIT)


def test_a_journal_file_is_sent_to_the_right_option(write):
    with pytest.raises(LogFileError, match="give its folder as journal_directory"):
        LogFile(write(b"LPKSHHRH" + bytes(300)), UNIT)


def test_what_is_no_file_is_said(tmp_path):
    with pytest.raises(LogFileError, match="is no regular file"):
        LogFile(str(tmp_path), UNIT)
    with pytest.raises(LogFileError, match="can't be read on this host: No such file or directory"):
        LogFile(str(tmp_path / "missing"), UNIT)


def test_a_device_that_never_ends_is_not_read():
    with pytest.raises(LogFileError, match="is no regular file"):
        LogFile("/dev/zero", UNIT)


MEASURE = r"""
import re, sys
from ansible_collections.llmops.sglang.plugins.module_utils.log_file import LogFile
print(sum(1 for record in LogFile(sys.argv[1], "sglang.service").records()))
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read()).group(1))
"""


@pytest.mark.parametrize(
    "content", [b"x" * (48 << 20), b"\n" * (1 << 20), b"\0" * (48 << 20)], ids=["x", "newline", "nul"]
)
def test_memory_stays_bounded_whatever_the_lines(write, content):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, write(b"begin\n" * 5000 + content)],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        check=True,
        timeout=60,
    )
    lines, peak_kib = map(int, done.stdout.split())
    assert lines > 5000
    assert peak_kib < 80 * 1024
