# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import follow as following
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord

NOW = 1772366400.0
TIMESTAMP = "2026-03-01T12:00:00.000000Z"
HOUR_AGO = "2026-03-01T11:00:00.000000Z"


class World:
    """A journal and a unit that change at set seconds of a clock that only waiting moves."""

    def __init__(self, records=(), fates=()):
        self.seconds = 0.0
        self.records = list(records)
        self.fates = list(fates)
        self.looks = []

    def clock(self):
        return self.seconds

    def read(self, timeout):
        """What is due within ``timeout``; waiting takes a moment even when nothing comes."""
        if self.records and self.records[0][0] <= self.seconds + timeout:
            moment, record = self.records.pop(0)
            self.seconds = max(self.seconds, moment)
            return None if record is None else [record]
        self.seconds += max(timeout, 0.001)
        return []

    def look(self):
        self.looks.append(self.seconds)
        past = [fate for moment, fate in self.fates if moment <= self.seconds]
        return past[-1] if past else "alive"

    def follow(self, observation, timeout=1800, progress_timeout=600):
        return following.follow(
            self, observation, self.look, timeout, progress_timeout, self.clock, lambda: NOW + self.seconds
        )


class Words:
    """An observation to which a record says what it means."""

    def __init__(self, start=50):
        self.taken = []
        self.start = start

    def take(self, *records):
        self.taken += [record.text for record in records]

    @property
    def decided(self):
        return "decided" in self.taken

    @property
    def failed(self):
        return "fatal" in self.taken

    @property
    def past_start(self):
        return len(self.taken) >= self.start


def line(text="line", origin="service", timestamp=""):
    return LogRecord(text=text, timestamp=timestamp, origin=origin)


def test_it_returns_the_moment_the_verdict_is_decided():
    world = World([(0.0, line()), (700.25, line("decided")), (700.5, line("later"))])
    observation = Words()
    assert world.follow(observation, progress_timeout=1000) == "decided"
    assert observation.taken == ["line", "decided"]
    assert world.seconds == 700.25


def test_a_decided_verdict_is_not_believed_of_an_instance_that_is_gone():
    world = World([(5.1, line("decided")), (5.2, line("died"))], fates=[(5.0, "dead")])
    observation = Words()
    assert world.follow(observation) == "dead"
    assert observation.taken == ["decided", "died"]


def test_a_dead_instance_is_noticed_between_lines_and_its_last_lines_are_taken():
    world = World([(1.0, line()), (21.0, line("last words")), (22.5, line("Failed", "systemd"))], [(20.0, "dead")])
    observation = Words()
    assert world.follow(observation) == "dead"
    assert observation.taken[:2] == ["line", "last words"]
    assert world.seconds < 20.0 + following.LOOK_INTERVAL + following.LONGEST_DRAIN


def test_a_word_of_systemd_brings_a_look_at_once():
    world = World([(10.01, line("Main process exited", "systemd")), (10.02, line("more"))], [(10.0, "dead")])
    observation = Words()
    assert world.follow(observation) == "dead"
    assert 10.01 in world.looks
    assert observation.taken == ["Main process exited", "more"]


def test_an_instance_that_is_replaced_while_it_drains_is_said():
    world = World([(1.0, line("exited", "systemd"))], [(1.0, "dead"), (1.5, "replaced")])
    assert world.follow(Words()) == "replaced"


def test_a_replaced_instance_ends_it():
    world = World([(1.0, line())], [(9.0, "replaced")])
    assert world.follow(Words()) == "replaced"
    assert world.seconds < 9.0 + 2 * following.LOOK_INTERVAL + following.QUIET


def test_a_fatal_line_ends_it_with_the_lines_that_explain_it():
    world = World([(3.0, line("fatal")), (3.1, line("Traceback")), (3.2, line("Error: because")), (90.0, line("late"))])
    observation = Words()
    assert world.follow(observation) == "failed"
    assert observation.taken == ["fatal", "Traceback", "Error: because"]


def test_a_dying_server_that_never_stops_talking_is_not_listened_to_for_ever():
    world = World([(3.0, line("fatal"))] + [(3.0 + number / 2, line()) for number in range(1, 200)])
    assert world.follow(Words()) == "failed"
    assert world.seconds <= 3.0 + following.LONGEST_DRAIN + following.QUIET


def test_silence_ends_it():
    world = World([(0.0, line()), (500.0, line())])
    assert world.follow(Words()) == "silent"
    assert world.seconds == pytest.approx(1100.0, abs=0.1)


def test_silence_before_it_came_counts():
    world = World([(0.0, line(timestamp=HOUR_AGO)), (0.0, line(timestamp=HOUR_AGO))])
    observation = Words()
    assert world.follow(observation) == "silent"
    assert observation.taken == ["line", "line"]
    assert world.seconds < 5.0


def test_old_lines_do_not_hide_the_ones_that_follow():
    world = World([(0.0, line(timestamp=HOUR_AGO)), (0.5, line("decided", timestamp=TIMESTAMP))])
    assert world.follow(Words()) == "decided"


def test_the_timeout_ends_it_however_much_is_said():
    world = World([(float(number), line()) for number in range(40)])
    assert world.follow(Words(), timeout=30) == "timeout"
    assert 30.0 <= world.seconds < 32.0


def test_a_server_that_is_long_past_its_start_is_not_listened_to():
    world = World([(0.0, line()) for _number in range(60)])
    assert world.follow(Words()) == "past_start"


def test_a_journal_that_ends_ends_it():
    world = World([(0.0, line()), (0.1, None)])
    assert world.follow(Words()) == "journal_ended"


def test_the_unit_is_looked_at_in_between_and_not_all_the_time():
    world = World([(number / 10, line()) for number in range(300)] + [(30.0, line("decided"))])
    world.follow(Words(start=1000))
    assert 15 <= len(world.looks) <= 25
