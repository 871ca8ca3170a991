from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import soak
from ansible_collections.llmops.sglang.plugins.module_utils.journal import JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord

DECODE = (
    "[2026-11-29 15:17:33 TP0] Decode batch, #running-req: 1, #full token: 31, full token usage: 0.00, mamba num: 1, "
    "mamba usage: 0.02, accept len: %s, accept rate: 0.00, cpu graph: False, gen throughput (token/s): 0.32, "
    "#queue-req: 0"
)
FATAL = "[2026-11-29 15:17:33] Received sigquit from a child process. It usually means the child failed."


class Clock:
    """Time that passes only where the code under test waits."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Reading:
    """A journal that prints its lines at given seconds."""

    def __init__(self, clock, lines):
        self._clock = clock
        self._lines = sorted(lines)

    def read(self, timeout):
        self._clock.now += timeout
        due = [line for at, line in self._lines if at <= self._clock.now]
        self._lines = [entry for entry in self._lines if entry[0] > self._clock.now]
        return [LogRecord(line) for line in due]


class Watched:
    def __init__(self, clock, dies_at=None):
        self._clock = clock
        self._dies_at = dies_at

    def trouble(self, now=False):
        dead = self._dies_at is not None and self._clock.now >= self._dies_at
        return "The instance is dead: exit status 1." if dead else ""


def soaked(lines=(), dies_at=None, states=(), seconds=60, min_accept_length=1.3):
    clock = Clock()
    answers = iter(states)
    findings = soak.watch(
        soak.SoakFindings(),
        Reading(clock, list(lines)),
        Watched(clock, dies_at),
        lambda: next(answers, "200"),
        seconds,
        clock,
    )
    return findings, soak.judge(findings, min_accept_length)


def test_a_quiet_minute_is_proof():
    findings, (verdict, reason) = soaked()
    assert verdict == "proven"
    assert findings.seconds == 60
    assert findings.checks == 12
    assert "no traffic" in reason


def test_an_instance_that_dies_ends_the_soak_at_once():
    findings, (verdict, reason) = soaked(dies_at=7)
    assert (verdict, findings.seconds) == ("refuted", 7)
    assert "exit status 1" in reason


def test_a_fatal_line_ends_the_soak_before_the_process_does():
    findings, (verdict, reason) = soaked([(3, FATAL)])
    assert (verdict, findings.seconds) == ("refuted", 3)
    assert "fatal" in reason


@pytest.mark.parametrize(
    ("states", "verdict", "missed"),
    [
        (["503", "200", "503", "503", "200"], "proven", 3),
        (["200", "503", "timeout", "503"], "refuted", 3),
    ],
)
def test_one_missed_check_is_no_death_and_three_in_a_row_are(states, verdict, missed):
    findings, (judged, _reason) = soaked(states=states)
    assert (judged, findings.missed) == (verdict, missed)


def test_an_accept_length_that_fell_is_refuted_where_traffic_shows_it():
    lines = [(second, DECODE % "1.02") for second in (1, 2, 3)]
    findings, (verdict, reason) = soaked(lines)
    assert verdict == "refuted"
    assert findings.accept_length == 1.02
    assert "1.02" in reason


def test_good_drafts_are_proof_and_few_lines_are_no_ground_to_refute():
    assert soaked([(second, DECODE % "2.9") for second in (1, 2, 3)])[1][0] == "proven"
    assert soaked([(1, DECODE % "1.00"), (2, DECODE % "1.00")])[1][0] == "proven"
    assert soaked([(second, DECODE % "1.00") for second in (1, 2, 3)], min_accept_length=None)[1][0] == "proven"


def test_a_death_at_the_very_end_is_seen():
    assert soaked(dies_at=60)[1][0] == "refuted"


def test_a_journal_that_can_not_be_followed_is_an_error_and_no_proof():
    class Ended:
        def read(self, timeout):
            return None

    with pytest.raises(JournalError):
        soak.watch(soak.SoakFindings(), Ended(), Watched(Clock()), lambda: "200", 60, Clock())
