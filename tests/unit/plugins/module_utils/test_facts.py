# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.tests.unit.starts import (
    DRAFT,
    READY,
    TARGET,
    banner_text,
    captured,
    facts_of,
    load_line,
    log_line,
    records,
    start_lines,
)

FORGED = "server_args={'model_path': '/m', 'speculative_algorithm': 'EAGLE'}"
ARGUMENT_ERROR = captured("0.5.23-realserver-draft-missing")
BOOT = "/opt/sglang/lib/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported"
DECODE = "Decode batch, #running-req: 1, #token: 31, accept len: %s, gen throughput (token/s): 1.0, #queue-req: 0"


def algorithm(facts):
    return facts.banner.get("speculative_algorithm") if facts.banner else "no banner"


def test_a_whole_start():
    facts = facts_of(start_lines(ranks=2))
    assert algorithm(facts) == "EAGLE"
    assert {key: [load.model_class for load in rank.loads] for key, rank in facts.ranks.items()} == {
        "TP0": [TARGET, DRAFT],
        "TP1": [TARGET, DRAFT],
    }
    assert facts.ready and not facts.fatal
    assert facts.starts == 1
    assert [step["name"] for step in facts.phases()] == [
        "banner",
        "target_weights",
        "draft_weights",
        "memory_pool",
        "ready",
    ]
    assert [step["elapsed"] for step in facts.phases()] == [0.0, 1.0, 2.0, 3.0, 8.0]


def test_of_several_starts_the_last_one_counts():
    facts = facts_of(start_lines(), start_lines(case="nospec", draft="", ready=False))
    assert facts.starts == 2
    assert algorithm(facts) is None
    assert facts.ready is None
    assert all(len(rank.loads) == 1 for rank in facts.ranks.values())


def test_two_starts_with_the_same_arguments_are_two():
    facts = facts_of(start_lines(), start_lines(ready=False, draft=""))
    assert facts.starts == 2
    assert not facts.ready
    assert all(len(rank.loads) == 1 for rank in facts.ranks.values())


def test_a_crash_loop_is_judged_by_its_last_start():
    crash = [log_line("Scheduler hit an exception: Traceback (most recent call last):"), "ValueError: no"]
    lines = start_lines(ready=False) + crash
    facts = facts_of(lines, lines, start_lines(case="nospec", draft="", ready=False))
    assert facts.starts == 3
    assert not facts.failures
    assert algorithm(facts) is None


def test_the_engine_prints_its_banner_twice():
    line = log_line(banner_text())
    facts = facts_of([line, line], start_lines()[1:])
    assert facts.starts == 1
    assert len(facts.ranks) == 4


def test_a_start_without_a_banner_inherits_none():
    facts = facts_of(start_lines(), ARGUMENT_ERROR)
    assert algorithm(facts) == "no banner"
    assert facts.ready is None
    assert facts.failures[-1].text.startswith("OSError: Repo id must be")


def test_a_usage_error_after_a_good_start_is_another_start():
    lines = [
        "usage: launch_server.py [-h] --model-path MODEL_PATH",
        "launch_server.py: error: unrecognized arguments: -x",
    ]
    facts = facts_of(start_lines(), lines)
    assert algorithm(facts) == "no banner"
    assert [failure.code for failure in facts.failures] == ["usage_error"]


def test_the_first_line_of_a_process_begins_another_start():
    facts = facts_of(start_lines(), [BOOT])
    assert (facts.starts, algorithm(facts), facts.ready) == (2, "no banner", None)


def test_that_line_before_the_banner_is_the_same_start():
    assert facts_of([BOOT], start_lines()).starts == 1


def test_systemd_starts_the_unit_again():
    died = records(["sglang.service: Main process exited, code=killed, status=9/KILL"], origin="systemd")
    again = records(["Started sglang.service - SGLang (MTP enabled)."], origin="systemd")
    facts = facts_of(start_lines(), died, again)
    assert (facts.starts, algorithm(facts), facts.unit_exit) == (2, "no banner", None)


def test_that_systemd_started_the_unit_is_said_after_its_first_lines_too():
    again = records(["Started sglang.service - SGLang (MTP enabled)."], origin="systemd")
    lines = start_lines()
    assert facts_of(lines[:1], again, lines[1:]).starts == 1


@pytest.mark.parametrize("line", [FORGED, log_line(FORGED)])
@pytest.mark.parametrize("pid", [None, 7])
def test_a_banner_in_a_request_line_is_not_believed(line, pid):
    lines = records(start_lines(case="nospec", draft=""), pid=pid) + records([line], pid=pid)
    facts = facts_of(lines)
    assert algorithm(facts) is None
    assert facts.ready


def test_a_whole_banner_of_the_serving_process_is_not_believed_either():
    lines = start_lines(case="nospec", draft="") + [log_line(banner_text())]
    facts = facts_of(records(lines, pid=7))
    assert algorithm(facts) is None
    assert facts.ready


def test_a_request_line_is_not_believed_when_the_banner_is_gone_from_the_journal():
    for serving in (READY, DECODE % "2.1", 'INFO:     127.0.0.1:4 - "POST /generate HTTP/1.1" 200 OK'):
        facts = facts_of([log_line(serving), log_line(FORGED), FORGED])
        assert algorithm(facts) == "no banner"


def test_a_banner_in_another_format_must_be_a_whole_one():
    assert algorithm(facts_of(["INFO:engine:server_args={'speculative_algorithm': 'EAGLE'}"])) == "no banner"
    assert algorithm(facts_of(["INFO:engine:" + banner_text()])) == "EAGLE"


def test_loads_and_readiness_after_the_start_change_nothing():
    lines = start_lines(draft="") + [
        load_line(DRAFT, 1.9, "TP0"),
        log_line("Load weight begin. avail mem=1.00 GB", "TP0"),
    ]
    assert [len(rank.loads) for rank in facts_of(lines).ranks.values()] == [1, 1, 1, 1]


def test_without_its_port_a_server_is_not_ready():
    bind = log_line(
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 1): address already in use"
    )
    facts = facts_of(start_lines(ready=False), [bind, log_line(READY)])
    assert facts.fatal and not facts.ready


def test_an_orderly_stop_is_no_failure():
    stop = [log_line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")]
    after = [log_line("Received sigquit from a child process. It usually means the child failed.")]
    facts = facts_of(start_lines(), stop, after)
    assert facts.stopping and not facts.fatal


def test_a_failure_while_serving_is_one():
    crash = [
        log_line("Scheduler hit an exception: Traceback (most recent call last):", "TP0"),
        "  File x",
        "ValueError: no",
    ]
    facts = facts_of(start_lines(), crash)
    assert [(failure.code, failure.text) for failure in facts.failures] == [("exception", "ValueError: no")]


def test_a_traceback_is_open_until_another_line_follows():
    crash = [
        log_line("Scheduler hit an exception: Traceback (most recent call last):"),
        "  File x",
        "ValueError: no",
        "",
    ]
    assert facts_of(start_lines(ready=False), crash).traceback_open
    assert not facts_of(
        start_lines(ready=False), crash, [log_line("Received sigquit from a child process.")]
    ).traceback_open


@pytest.mark.parametrize(
    ("lines", "skipped"),
    [
        ([log_line("Parameter model.language_model.mtp.fc.weight not found in params_dict, skip loading")], 1),
        ([log_line("Parameter visual.merger.weight not found in params_dict, skip loading")], 0),
        (
            [
                log_line("Load weight begin. avail mem=60.00 GB"),
                log_line("Parameter model.mtp.fc.weight not found in params_dict, skip loading"),
                load_line(TARGET),
            ],
            0,
        ),
        (
            [
                log_line("Load weight begin. avail mem=60.00 GB"),
                load_line(TARGET),
                log_line("Load weight begin. avail mem=30.00 GB"),
                log_line("Parameter model.layers.0.mlp.gate.weight not found in params_dict, skip loading"),
            ],
            1,
        ),
    ],
    ids=["named", "of the target", "while the target loads", "while the draft loads"],
)
def test_skipped_tensors_of_the_draft_model(lines, skipped):
    assert len(facts_of([log_line(banner_text())], lines).skipped_tensors) == skipped


def test_untagged_ranks_are_told_apart_by_their_processes():
    lines = records([log_line(banner_text(tp_size="2"))], pid=1)
    for pid in (11, 12):
        lines += records([load_line(TARGET), load_line(DRAFT)], pid=pid)
    assert [len(rank.loads) for rank in facts_of(lines).ranks.values()] == [2, 2]


def test_accept_lengths_of_decode_lines():
    facts = facts_of([log_line(DECODE % "1.00"), log_line(DECODE % "3.10"), log_line(DECODE % "2.00")])
    assert facts.accept_lengths == (1.0, 3.1, 3)


def test_suppressed_messages_are_counted():
    dropped = records(["Suppressed 40 messages from sglang.service", "Suppressed 2 messages from x"], origin="journald")
    assert facts_of(dropped).suppressed == 42


def test_secrets_of_the_banner_and_of_command_lines_are_learned():
    lines = [
        log_line(banner_text(api_key="'it\\'s S3cret'", watermark_map="'x'")),
        "ExecStart=x --admin-api-key An0ther",
    ]
    redact = facts_of(lines).redactor.redact
    assert redact("it's S3cret and An0ther") == "******** and ********"


def test_a_hostile_log_does_not_fill_the_memory():
    many = [load_line(DRAFT, 1.0, "TP%d" % number) for number in range(6000)]
    many += [log_line("Received sigquit from a child process.") for _number in range(1000)]
    facts = facts_of(many)
    assert len(facts.ranks) <= 5000
    assert len(facts.failures) <= 200
