# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.journal import (
    Journal,
    JournalError,
    explain_complaint,
    journal_files,
)
from ansible_collections.llmops.sglang.plugins.module_utils.journal_entries import MESSAGES_DROPPED

INSTANCE = "a" * 32
OTHER = "b" * 32
SOON = 20.0


def said(message, instance=INSTANCE, **fields):
    return dict(
        {"MESSAGE": message, "_PID": 7, "_SYSTEMD_INVOCATION_ID": instance, "_SYSTEMD_UNIT": "sglang.service"}, **fields
    )


def read_all(reading):
    with reading:
        return [record for records in reading.chunks(time.monotonic() + SOON) for record in records]


def texts(reading):
    return [record.text for record in read_all(reading)]


def program(tmp_path, text):
    """A stand-in for journalctl."""
    path = tmp_path / "journalctl"
    path.write_text("#!%s\n%s" % (sys.executable, text))
    path.chmod(0o755)
    return str(path)


def test_exactly_one_instance_is_read_with_all_that_is_about_it(make_journal):
    directory = make_journal(
        [
            {"MESSAGE": "Started A", "_PID": 1, "INVOCATION_ID": INSTANCE, "UNIT": "sglang.service"},
            said("first"),
            said("of another", OTHER),
            {"MESSAGE": "Started B", "_PID": 1, "INVOCATION_ID": OTHER, "UNIT": "sglang.service"},
            {
                "MESSAGE": "Suppressed 9 messages from sglang.service",
                "MESSAGE_ID": MESSAGES_DROPPED,
                "OBJECT_SYSTEMD_INVOCATION_ID": INSTANCE,
            },
            {"MESSAGE": "Suppressed 3 messages", "MESSAGE_ID": MESSAGES_DROPPED, "OBJECT_SYSTEMD_INVOCATION_ID": OTHER},
            {"MESSAGE": "forged", "_PID": 99, "INVOCATION_ID": INSTANCE, "_SYSTEMD_INVOCATION_ID": OTHER},
            said("last"),
        ]
    )
    found = [(record.origin, record.text) for record in read_all(Journal(INSTANCE, directory).from_start())]
    assert found == [
        ("systemd", "Started A"),
        ("service", "first"),
        ("journald", "Suppressed 9 messages from sglang.service"),
        ("service", "last"),
    ]


def test_messages_come_as_they_were_printed(make_journal):
    banner = "[2026-03-01 12:00:00] server_args=" + "x" * 20000
    messages = [
        banner,
        b"  5%|\r 10%|",
        b"\x1b[1;33mwarning\x1b[0m",
        b"not \xff utf-8",
        b"with\0nul",
        ["two", "fields"],
    ]
    directory = make_journal([said(message) for message in messages])
    assert texts(Journal(INSTANCE, directory).from_start()) == [
        banner,
        "  5%|\r 10%|",
        "\x1b[1;33mwarning\x1b[0m",
        "not \ufffd utf-8",
        "with\0nul",
        "two\nfields",
    ]


def test_the_newest_records_are_read_without_the_others(make_journal):
    directory = make_journal([said("line %d" % number) for number in range(50)] + [said("other", OTHER)])
    assert texts(Journal(INSTANCE, directory).last(2)) == ["line 48", "line 49"]


def test_a_namespace_is_read_beside_the_journal_of_the_machine(tmp_path):
    shows_its_arguments = program(
        tmp_path,
        "import json, sys\n"
        "print(json.dumps({'MESSAGE': ' '.join(sys.argv), '_SYSTEMD_INVOCATION_ID': '%s'}))\n" % INSTANCE,
    )
    (arguments,) = texts(Journal(INSTANCE, namespace="gpu", journalctl=shows_its_arguments).from_start())
    assert " --namespace=+gpu " in arguments
    (arguments,) = texts(Journal(INSTANCE, journalctl=shows_its_arguments).from_start())
    assert "--namespace" not in arguments


def test_an_instance_without_records_is_an_empty_reading(make_journal):
    assert texts(Journal("c" * 32, make_journal([said("line")])).from_start()) == []


def test_reading_stops_when_it_is_closed_and_ends_the_child(make_journal):
    directory = make_journal([said("x" * 5000) for _number in range(500)])
    with Journal(INSTANCE, directory).from_start() as reading:
        assert reading.read(SOON)
        child = reading._child
    assert child.returncode is not None


def test_a_followed_journal_shows_what_was_there_and_what_comes(make_journal):
    directory = make_journal([said("there")])
    with Journal(INSTANCE, directory).followed() as reading:
        assert [record.text for record in reading.read(SOON)] == ["there"]
        assert reading.read(0.0) == []
        make_journal([said("of another", OTHER), said("new")])
        assert [record.text for record in reading.read(SOON)] == ["new"]
        child = reading._child
    assert child.returncode is not None


def test_a_child_that_ignores_everything_is_ended(tmp_path):
    stubborn = program(
        tmp_path,
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"MESSAGE": "up", "_SYSTEMD_INVOCATION_ID": "%s"}\', flush=True)\n'
        "time.sleep(600)\n" % INSTANCE,
    )
    with Journal(INSTANCE, journalctl=stubborn).followed() as reading:
        assert [record.text for record in reading.read(SOON)] == ["up"]
    with pytest.raises(ProcessLookupError):
        os.kill(reading._child.pid, 0)


def test_a_directory_that_does_not_exist_is_said():
    with pytest.raises(JournalError, match="journal_directory is /does/not/exist, which is no directory"):
        Journal(INSTANCE, "/does/not/exist")


def test_a_directory_without_journal_files_is_said(tmp_path):
    with pytest.raises(JournalError, match="holds no journal files"):
        Journal(INSTANCE, str(tmp_path))


def test_a_journalctl_that_is_missing_is_said():
    with pytest.raises(JournalError, match="^/does/not/exist can't be run on this host: No such file or directory.$"):
        Journal(INSTANCE, journalctl="/does/not/exist").from_start()


def test_a_journalctl_that_fails_is_said_with_its_own_words(tmp_path):
    broken = program(tmp_path, "import sys\nprint('Bad message', file=sys.stderr)\nsys.exit(3)\n")
    with pytest.raises(JournalError, match=r"^journalctl failed \(exit status 3\): Bad message$"):
        read_all(Journal(INSTANCE, journalctl=broken).from_start())


def test_a_journal_that_never_ends_is_given_up(tmp_path):
    endless = program(tmp_path, "import time\ntime.sleep(600)\n")
    with Journal(INSTANCE, journalctl=endless).from_start() as reading, pytest.raises(JournalError, match="in time"):
        list(reading.chunks(time.monotonic()))


def test_a_flood_on_stderr_does_not_block_the_reading(tmp_path):
    noisy = program(
        tmp_path,
        "import sys\n"
        "sys.stderr.write('noise' * 100000)\n"
        'print(\'{"MESSAGE": "text", "_SYSTEMD_INVOCATION_ID": "%s"}\')\n' % INSTANCE,
    )
    assert texts(Journal(INSTANCE, journalctl=noisy).from_start()) == ["text"]


@pytest.mark.parametrize(
    "complaint",
    [
        "No journal files were opened due to insufficient permissions.",
        "Failed to open /var/log/journal/x: Permission denied",
        "Hint: You are currently not seeing messages from other users and the system.",
    ],
)
def test_a_missing_permission_is_recognised(complaint):
    sentence = explain_complaint(complaint, 1)
    assert "may not be read by the user" in sentence
    assert "systemd-journal" in sentence


def test_a_success_with_remarks_is_no_complaint():
    assert explain_complaint("Journal file x is truncated, ignoring file.", 0) == ""


def test_a_failure_without_words_is_said():
    assert explain_complaint("", 4) == "journalctl failed (exit status 4): it did not say why."


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become a user who may not read")
def test_a_user_without_permission_is_told_the_way_out(make_journal, tmp_path):
    directory = make_journal([said("line")])
    as_nobody = tmp_path / "journalctl"
    as_nobody.write_text('#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups journalctl "$@"\n')
    as_nobody.chmod(0o755)
    with pytest.raises(JournalError, match="may not be read"):
        read_all(Journal(INSTANCE, directory, journalctl=str(as_nobody)).from_start())


def test_journal_files_are_found_in_the_machine_folders_but_not_below(tmp_path):
    for name in ("m/system.journal", "m/user-1000.journal~", "m/deep/er.journal", "other.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = sorted(os.path.relpath(path, tmp_path) for path in journal_files(str(tmp_path)))
    assert found == ["m/system.journal", "m/user-1000.journal~"]


MEASURE = r"""
import re, sys, time
from ansible_collections.llmops.sglang.plugins.module_utils.journal import Journal
longest = 0
with Journal(sys.argv[1], sys.argv[2]).from_start() as reading:
    for records in reading.chunks(time.monotonic() + 60):
        longest = max([longest] + [len(record.text) for record in records])
print(longest, re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read()).group(1))
"""


def test_memory_stays_bounded_with_lines_of_a_mebibyte(make_journal):
    messages = [b"\xff" + b"x" * (1 << 20), "y" * (1 << 20), b"\r" * (1 << 20)]
    directory = make_journal([said(message) for message in messages * 4])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, INSTANCE, directory],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        check=True,
        timeout=60,
    )
    longest, peak_kib = map(int, done.stdout.split())
    assert longest == (1 << 20) + 1
    assert peak_kib < 80 * 1024
