# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import observation
from ansible_collections.llmops.sglang.plugins.module_utils.conditions import Expectations
from ansible_collections.llmops.sglang.plugins.module_utils.observation import Observation, age
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord

CAPTURED = pathlib.Path(__file__).parents[2] / "fixtures" / "captured"
LINES = (CAPTURED / "0.5.23-realserver-nextn-tp2-keys.log").read_text().splitlines()
READY = next(number for number, line in enumerate(LINES) if "The server is fired up" in line)


@pytest.fixture
def observed():
    return Observation(Expectations.from_options({"speculative_algorithm": "NEXTN"}))


def records(lines):
    return [LogRecord(text=line, cursor="s=%d" % number) for number, line in enumerate(lines)]


def test_it_needs_the_lines_up_to_readiness_and_not_one_more(observed):
    observed.take(*records(LINES[:READY]))
    assert not observed.told_all
    assert not observed.decided
    observed.take(LogRecord(text=LINES[READY]))
    assert observed.decided
    assert observed.told_all
    assert observed.judge("alive").verdict == "proven"


def test_a_follower_needs_no_line_that_says_it_is_ready():
    lines = (CAPTURED / "0.5.23-realserver-two-nodes-1.log").read_text().splitlines()
    last_pool = max(number for number, line in enumerate(lines) if "Memory pool end." in line)
    observed = Observation(Expectations.from_options({"speculative_algorithm": "NEXTN"}))
    observed.take(*records(lines[:last_pool]))
    assert not observed.decided
    observed.take(LogRecord(text=lines[last_pool]))
    assert observed.decided
    assert observed.judge("alive").verdict == "proven"


def test_a_follower_that_is_up_without_a_draft_model_is_refuted():
    lines = (CAPTURED / "0.5.23-realserver-two-nodes-1.log").read_text().splitlines()
    up, draft, pool = (
        max(number for number, line in enumerate(lines) if words in line)
        for words in ("Dummy health check server started", "Load weight begin", "Memory pool end")
    )
    target_alone = lines[:draft] + lines[pool + 1 : up + 1]
    observed = Observation(Expectations.from_options({"speculative_algorithm": "NEXTN"}))
    observed.take(*records(target_alone[:-1]))
    assert not observed.decided
    observed.take(LogRecord(text=target_alone[-1]))
    assert observed.told_all
    assert observed.judge("alive").verdict == "refuted"


def test_a_verdict_can_be_decided_long_before_the_start_is_over(observed):
    banner = next(line for line in LINES if "server_args=" in line)
    observed.take(LogRecord(text=banner.replace("'speculative_algorithm': 'EAGLE'", "'speculative_algorithm': None")))
    assert observed.decided
    assert not observed.told_all


def test_it_is_judged_again_only_when_something_was_said(observed, monkeypatch):
    judged = []
    judge = observation.conditions.judge
    monkeypatch.setattr(observation.conditions, "judge", lambda *a, **k: judged.append(a) or judge(*a, **k))
    observed.take(*records(LINES[: READY + 1]))
    assert observed.decided and observed.decided
    assert len(judged) == 1


def test_it_counts_what_it_takes_and_knows_the_last_place(observed):
    observed.take(*records(["one", "two", "three"]))
    assert (observed.records, observed.last_cursor) == (3, "s=2")


def test_a_start_has_an_end_even_when_nothing_says_so(observed, monkeypatch):
    monkeypatch.setattr(observation, "START_RECORDS", 3)
    observed.take(*records(["one", "two"]))
    assert not observed.past_start
    observed.take(LogRecord(text="three"))
    assert observed.past_start and observed.told_all


def test_a_fatal_line_is_a_failure(observed):
    observed.take(LogRecord(text="Received sigquit from a child process. It usually means the child failed."))
    assert observed.failed


def test_the_answer_of_the_server_is_judged_too(observed):
    observed.take_answer({"speculative_algorithm": None, "version": "0.5.23"}, True)
    assert observed.decided
    assert observed.judge("alive").verdict == "refuted"


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("1970-01-01T00:00:10.500000Z", 89.5),
        ("1970-01-01T00:02:00.000000Z", 0.0),
        ("", 0.0),
        ("yesterday", 0.0),
    ],
)
def test_age(timestamp, seconds):
    assert age(timestamp, 100.0) == seconds
