# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way from the options to the verdict, over real journals and a scripted systemd."""

from __future__ import annotations

import json
import pathlib
import tempfile
import time

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import observation, service, verification
from ansible_collections.llmops.sglang.plugins.module_utils.conditions import ExpectationError
from ansible_collections.llmops.sglang.plugins.module_utils.log_file import LogFileError
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import Answer, parse_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

CAPTURED = pathlib.Path(__file__).parents[2] / "fixtures" / "captured"
SERVER = (CAPTURED / "0.5.23-realserver-nextn-tp2-keys.log").read_text().splitlines()
READY = next(number for number, line in enumerate(SERVER) if "The server is fired up" in line) + 1
CRASHED = (CAPTURED / "0.5.12-realserver-nextn-crash-after-draft-load.log").read_text().splitlines()

UNIT = "sglang.service"
INSTANCE = "a" * 32
LATER = "b" * 32
EXPECT = {
    "speculative_algorithm": "NEXTN",
    "disable_overlap_schedule": True,
    "draft_model_class": "Qwen3_5ForCausalLMMTP",
    "draft_ranks": 2,
    "mem_fraction_static": 0.1,
}
OPTIONS = {
    "unit": UNIT,
    "invocation_id": None,
    "journal_directory": None,
    "log_file": None,
    "follow": False,
    "timeout": 60.0,
    "progress_timeout": 30.0,
    "sglang_version": None,
    "expect": EXPECT,
}


def shown(invocation_id=INSTANCE, active="active", sub="running", load="loaded", **more):
    values = dict(
        {"LoadState": load, "ActiveState": active, "SubState": sub, "InvocationID": invocation_id, "MainPID": 7}, **more
    )
    return "".join("%s=%s\n" % item for item in values.items())


def systemd(*states):
    """A ``run_command`` whose unit is in these states, one look after the other; the last one stays."""
    waiting = list(states)

    def run_command(argv):
        assert argv[:2] == ["systemctl", "show"]
        state = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return 0, state() if callable(state) else state, ""

    return run_command


def no_systemd(_argv):
    return 1, "", "System has not been booted with systemd as init system (PID 1). Can't operate.\n"


def served(lines, instance=INSTANCE, pid=7):
    return [
        {"MESSAGE": line.encode(), "_PID": pid, "_SYSTEMD_INVOCATION_ID": instance, "_SYSTEMD_UNIT": UNIT}
        for line in lines
    ]


def by_systemd(message, instance=INSTANCE):
    return {"MESSAGE": message, "_PID": 1, "INVOCATION_ID": instance, "UNIT": UNIT}


def statuses(result):
    return [condition["status"] for condition in result["conditions"]]


def verify(run_command=None, server=None, wait=True, **options):
    return verification.verify(dict(OPTIONS, **options), run_command or systemd(shown()), server, wait)


@pytest.fixture(autouse=True)
def a_systemctl(monkeypatch):
    """The tests need no systemctl on this machine; each brings its own ``run_command``."""
    monkeypatch.setattr(verification.shutil, "which", lambda name: "/usr/bin/" + name)


# --- which instance ---------------------------------------------------------------------------------------------------


def test_a_running_server_is_proven_from_its_own_journal(make_journal):
    result = verify(journal_directory=make_journal(served(SERVER[:READY])))
    assert result["verdict"] == "proven"
    assert statuses(result) == ["met", "not_applicable", "met", "met", "met"]
    assert result["instance"] == {
        "invocation_id": INSTANCE,
        "main_pid": 7,
        "state": "active (running)",
        "restarts": 0,
    }
    assert result["diagnosis"] == []
    assert "followed" not in result


def test_the_instance_before_and_the_one_after_do_not_count(make_journal):
    directory = make_journal(
        served(SERVER[:READY], "c" * 32) + served(["nothing that tells"]) + served(SERVER[:READY], LATER, pid=9)
    )
    result = verify(journal_directory=directory)
    assert result["verdict"] == "inconclusive"
    assert "met" not in statuses(result)


def test_the_instance_that_was_asked_for_is_judged_though_another_runs(make_journal, monkeypatch):
    directory = make_journal(served(CRASHED) + served(SERVER[:READY], LATER, pid=9))
    monkeypatch.setattr(verification, "Journal", lambda invocation_id, *_own: _Journal(invocation_id, directory))
    result = verify(systemd(shown(LATER, NRestarts=1)), invocation_id=INSTANCE)
    assert result["verdict"] == "refuted"
    assert "replaced" in result["reason"]
    assert result["instance"] == {
        "invocation_id": INSTANCE,
        "main_pid": 0,
        "state": "replaced",
        "restarts": 1,
        "replaced_by": LATER,
    }


@pytest.mark.parametrize("lines", [[], ["Server listening on 0.0.0.0 port 22."]], ids=["of nobody", "of another unit"])
def test_an_id_of_which_the_journal_shows_no_server_refutes_nothing(make_journal, monkeypatch, lines):
    directory = make_journal(served(lines) + served(SERVER[:READY], LATER, pid=9))
    monkeypatch.setattr(verification, "Journal", lambda invocation_id, *_own: _Journal(invocation_id, directory))
    result = verify(systemd(shown(LATER)), invocation_id=INSTANCE)
    assert result["verdict"] == "inconclusive"
    assert "no server with the InvocationID" in result["reason"]


_Journal = verification.Journal


def test_an_instance_in_journal_files_from_elsewhere_is_not_called_replaced(make_journal):
    result = verify(
        systemd(shown(LATER)), invocation_id=INSTANCE, journal_directory=make_journal(served(SERVER[:READY]))
    )
    assert result["instance"]["state"] == "unknown"
    assert result["verdict"] == "proven"


def test_without_systemd_the_instance_has_to_be_named(make_journal):
    directory = make_journal(served(SERVER[:READY]))
    assert verify(no_systemd, journal_directory=directory, invocation_id=INSTANCE)["verdict"] == "proven"
    with pytest.raises(service.ServiceError, match="not been booted with systemd"):
        verify(no_systemd, journal_directory=directory)


def test_an_instance_between_crash_and_restart_is_dead(make_journal):
    directory = make_journal(served(SERVER[:READY]) + [by_systemd("sglang.service: Failed with result 'exit-code'.")])
    result = verify(systemd(shown(active="activating", sub="auto-restart")), journal_directory=directory)
    assert result["verdict"] == "refuted"
    assert result["instance"]["state"] == "activating (auto-restart)"


def test_the_id_may_be_written_as_a_uuid(make_journal):
    written = "AAAAAAAA-AAAA-AAAA-AAAA-AAAAAAAAAAAA"
    assert verify(invocation_id=written, journal_directory=make_journal(served(["x"])))["instance"]["main_pid"] == 7


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (
            shown("", "inactive", "dead", load="not-found"),
            "There is no unit nope.service on this host: name the unit that runs SGLang with unit.",
        ),
        (
            shown("", "inactive", "dead"),
            "nope.service has no instance to judge, it is inactive (dead): start it, or name an earlier instance with"
            " invocation_id.",
        ),
    ],
)
def test_a_unit_without_an_instance_is_bad_input(state, sentence):
    with pytest.raises(verification.UsageError) as error:
        verify(systemd(state), unit="nope")
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"invocation_id": "latest"}, "invocation_id is 'latest'"),
        ({"invocation_id": "a" * 31}, "32 hexadecimal digits"),
        ({"unit": "sglang@*"}, "unit is 'sglang@\\*'"),
        ({"unit": ""}, "no name of one unit"),
        ({"sglang_version": "newest"}, "sglang_version is 'newest'"),
        ({"timeout": 0.0}, "timeout is 0.0"),
        ({"progress_timeout": float("nan")}, "progress_timeout is nan"),
        ({"log_file": "/tmp/x.log", "follow": True}, "leave one of them out"),
    ],
)
def test_options_that_can_not_be_are_bad_input(options, words):
    with pytest.raises(verification.UsageError, match=words):
        verify(**options)


def test_an_expectation_that_can_not_be_is_bad_input():
    with pytest.raises(ExpectationError, match="mem_fraction_static"):
        verify(expect={"mem_fraction_static": 7.5})


# --- how much is read -------------------------------------------------------------------------------------------------


def test_of_a_long_running_server_only_the_start_is_read(make_journal, monkeypatch):
    taken = []
    monkeypatch.setattr(
        observation.server_log.LogParser, "feed", _counting(observation.server_log.LogParser.feed, taken)
    )
    requests = ['[2026-03-01 12:00:00] INFO: 10.0.0.7:1 - "POST /generate HTTP/1.1" 200 OK'] * 5000
    result = verify(journal_directory=make_journal(served(SERVER[:READY] + requests)))
    assert result["verdict"] == "proven"
    assert READY <= len(taken) < READY + 1500


def _counting(function, calls):
    def counted(self, record):
        calls.append(record)
        return function(self, record)

    return counted


def test_of_a_server_that_died_long_after_its_start_the_end_is_read_too(make_journal):
    requests = ["request %d %s" % (number, "x" * 200) for number in range(3000)]
    last = ["[2026-03-01 12:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):"]
    last += ['  File "scheduler.py", line 1, in run', "ValueError: the end of it", ""]
    ended = by_systemd("sglang.service: Main process exited, code=killed, status=9/KILL")
    directory = make_journal(served(SERVER[:READY] + requests + last) + [ended])
    result = verify(systemd(shown(active="failed", sub="failed", MainPID=0)), journal_directory=directory)
    assert result["verdict"] == "refuted"
    assert "the end of it" in json.dumps(result["diagnosis"])


def test_a_server_that_says_nothing_is_not_read_for_ever(make_journal, monkeypatch):
    monkeypatch.setattr(observation, "START_RECORDS", 100)
    result = verify(journal_directory=make_journal(served(["quiet"] * 3000)))
    assert result["verdict"] == "inconclusive"
    assert "records of the instance" in result["reason"]


# --- what is missing --------------------------------------------------------------------------------------------------


def test_a_journal_without_records_of_the_instance_says_so(make_journal):
    result = verify(journal_directory=make_journal(served(SERVER[:READY], LATER)))
    assert result["verdict"] == "inconclusive"
    assert "holds no record of the instance " + INSTANCE in result["reason"]


def test_a_unit_that_writes_to_a_file_says_so(make_journal):
    directory = make_journal([by_systemd("Started sglang.service.")])
    result = verify(systemd(shown(StandardOutput="append")), journal_directory=directory)
    assert result["verdict"] == "inconclusive"
    assert "give that as log_file" in result["reason"]


def test_a_journal_that_has_lost_its_beginning_says_so(make_journal):
    started = "%d" % ((time.monotonic() - 300) * 1e6)
    directory = make_journal(served(["the newest line"]))
    result = verify(systemd(shown(ExecMainStartTimestampMonotonic=started)), journal_directory=directory)
    assert result["verdict"] == "inconclusive"
    assert "younger than its process" in result["reason"]


def test_a_journal_that_may_not_be_read_is_inconclusive_with_its_cause(make_journal, monkeypatch, tmp_path):
    refusing = tmp_path / "journalctl"
    refusing.write_text("#!/bin/sh\necho 'No journal files were opened due to insufficient permissions.' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(
        verification, "Journal", lambda invocation_id, *_own: _Journal(invocation_id, journalctl=str(refusing))
    )
    result = verify()
    assert result["verdict"] == "inconclusive"
    assert "run the task with become" in result["reason"]


# --- following --------------------------------------------------------------------------------------------------------


def test_following_waits_for_what_is_still_to_come(make_journal):
    directory = make_journal(served(SERVER[:100]))

    def ready():
        make_journal(served(SERVER[100:READY]))
        return shown()

    result = verify(systemd(shown(), ready, shown()), journal_directory=directory, follow=True)
    assert result["verdict"] == "proven"
    assert result["followed"]["ended"] == "decided"
    assert result["phases"]


def test_following_a_start_that_dies_takes_its_last_words(make_journal):
    directory = make_journal(served(CRASHED[:60]))

    def dying():
        make_journal(served(CRASHED[60:]) + [by_systemd("sglang.service: Failed with result 'exit-code'.")])
        return shown(active="failed", sub="failed", MainPID=0)

    result = verify(systemd(shown(), dying), journal_directory=directory, follow=True)
    assert result["verdict"] == "refuted"
    assert result["followed"]["ended"] in ("failed", "dead")
    assert "Torch not compiled with CUDA enabled" in json.dumps(result["diagnosis"])


def test_an_instance_that_is_replaced_while_it_is_followed_is_not_averaged(make_journal):
    directory = make_journal(served(SERVER[:100]))

    def restarted():
        make_journal(served(SERVER[:READY], LATER, pid=9))
        return shown(LATER, NRestarts=1)

    result = verify(systemd(shown(), restarted), journal_directory=directory, follow=True)
    assert result["verdict"] == "refuted"
    assert result["followed"]["ended"] == "replaced"
    assert result["instance"]["replaced_by"] == LATER


def test_silence_is_named_as_the_cause(make_journal):
    now = int(time.time() * 1e6)
    entries = [dict(entry, __REALTIME_TIMESTAMP=now - 40 * 10**6) for entry in served(SERVER[:20])]
    result = verify(journal_directory=make_journal(entries), follow=True)
    assert result["followed"]["ended"] == "silent"
    assert result["verdict"] == "inconclusive"
    assert "nothing was logged for 30 s (progress_timeout)" in result["reason"]


def test_check_mode_does_not_wait(make_journal):
    result = verify(journal_directory=make_journal(served(SERVER[:20])), follow=True, wait=False)
    assert "followed" not in result


def test_a_dead_instance_is_not_waited_for(make_journal):
    result = verify(
        systemd(shown(active="failed", sub="failed")), journal_directory=make_journal(served(CRASHED)), follow=True
    )
    assert result["verdict"] == "refuted"
    assert result["followed"] == {"ended": "dead", "seconds": 0.0}


# --- a captured log ---------------------------------------------------------------------------------------------------


def test_a_captured_log_is_judged(tmp_path):
    path = tmp_path / "sglang.log"
    path.write_text("\n".join(SERVER[:READY]) + "\n")
    result = verify(log_file=str(path))
    assert result["verdict"] == "proven"
    assert result["instance"] == {"invocation_id": "", "main_pid": 0, "state": "unknown", "restarts": 0}


def test_a_captured_journal_without_its_long_messages_says_how_to_capture_it(tmp_path):
    path = tmp_path / "journal.json"
    entries = [
        {
            "__CURSOR": "s=%d" % number,
            "MESSAGE": line if len(line) < 4096 else None,
            "_SYSTEMD_INVOCATION_ID": INSTANCE,
            "_SYSTEMD_UNIT": UNIT,
        }
        for number, line in enumerate(SERVER[:READY])
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    result = verify(log_file=str(path))
    assert result["verdict"] == "inconclusive"
    assert "1 entries of the file have no message" in result["reason"]
    assert "--all" in result["reason"]
    assert result["instance"]["invocation_id"] == INSTANCE


def test_a_log_file_that_is_missing_is_bad_input():
    with pytest.raises(LogFileError, match="No such file"):
        verify(log_file="/does/not/exist.log")


# --- the server's own answer ------------------------------------------------------------------------------------------


class Server:
    """A server at an address where nothing of this machine listens."""

    def __init__(self, status=200, fields=None):
        self.address = parse_url("http://192.0.2.1:30000")
        self.status, self.fields = status, fields

    def server_info(self):
        return self.status, self.fields

    def get(self, path):
        assert path == "/health"
        return Answer("200", 200)


FIELDS = {
    "speculative_algorithm": "EAGLE",
    "mem_fraction_static": 0.1,
    "disable_overlap_schedule": True,
    "tp_size": 2,
    "version": "0.5.23",
}


def test_an_answer_stands_in_for_lines_that_are_missing(make_journal):
    expect = {"speculative_algorithm": "NEXTN", "mem_fraction_static": 0.1}
    directory = make_journal(served(["quiet"]))
    without = verify(journal_directory=directory, expect=expect)
    assert statuses(without)[0] == "no_evidence"
    answered = verify(server=Server(fields=FIELDS), journal_directory=directory, expect=expect)
    assert statuses(answered) == ["met", "not_applicable", "not_applicable", "not_applicable", "met"]


def test_a_server_whose_log_shows_nothing_is_asked_while_it_is_followed(make_journal, monkeypatch):
    monkeypatch.setattr(verification, "ASK_INTERVAL", 0.0)
    result = verify(
        server=Server(fields=FIELDS),
        journal_directory=make_journal(served(["quiet"])),
        follow=True,
        expect={"speculative_algorithm": "NEXTN"},
    )
    assert result["followed"]["ended"] == "decided"
    assert result["verdict"] == "proven"


def test_an_answer_that_contradicts_the_log_refutes(make_journal):
    server = Server(fields=dict(FIELDS, speculative_algorithm=None))
    result = verify(server=server, journal_directory=make_journal(served(SERVER[:READY])))
    assert result["verdict"] == "refuted"


def test_a_server_that_does_not_answer_is_said_where_it_matters(make_journal):
    result = verify(server=Server(status=401), journal_directory=make_journal(served(["quiet"])))
    assert "http://192.0.2.1:30000 gave no /server_info (HTTP status 401)" in result["reason"]
    result = verify(server=Server(status=401), journal_directory=make_journal(served(SERVER[:READY]), "other"))
    assert result["verdict"] == "proven"


def test_a_dead_instance_is_not_asked(make_journal):
    result = verify(
        systemd(shown(active="failed", sub="failed")),
        server=Server(fields=FIELDS),
        journal_directory=make_journal(served(["quiet"])),
    )
    assert result["verdict"] == "refuted"
    assert "met" not in statuses(result)


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_no_key_of_the_banner_is_in_the_result(make_journal):
    result = json.dumps(verify(journal_directory=make_journal(served(SERVER[:READY]))))
    assert "'api_key': 'userkey'" in "\n".join(SERVER)
    assert "userkey" not in result
    assert "adminkey" not in result


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=8, max_size=30))
@example("it's, a (key), 'mem_fraction_static': 0.99")
def test_whatever_the_key_is_it_is_not_in_the_result(key):
    if key in json.dumps(verify_text("\n".join(SERVER[:READY]))):
        return
    printed = "\n".join(SERVER).replace("'api_key': 'userkey'", "'api_key': %r" % key)
    died = (
        printed
        + "\n[2026-03-01 12:00:00] Scheduler hit an exception: Traceback (most recent call last):\nError: %s\n" % key
    )
    for text in (printed, died):
        shown = json.dumps(verify_text(text), ensure_ascii=False)
        assert key not in shown
        assert json.dumps(key)[1:-1] not in shown


# --- hostile input ----------------------------------------------------------------------------------------------------

PIECES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([line.encode()[:3000] for line in SERVER + CRASHED]),
    st.sampled_from([b"\n", b"\r", b"\0", b"\x1b[31m", b"server_args={", b"server_args=ServerArgs(", b'{"MESSAGE":']),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_no_log_makes_it_fail_otherwise_than_with_one_sentence(pieces):
    try:
        result = verify_text(b"".join(pieces))
    except verification.BAD_INPUT as error:
        assert "\n" not in str(error)
    else:
        assert result["verdict"] in ("proven", "refuted", "inconclusive")
        assert len(result["conditions"]) == 5


def verify_text(text):
    with tempfile.NamedTemporaryFile() as log:
        log.write(text if isinstance(text, bytes) else text.encode())
        log.flush()
        return verify(log_file=log.name)
