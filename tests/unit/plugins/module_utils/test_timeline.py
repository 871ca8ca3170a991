# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import server_log, timeline


def event(timestamp="", clock=""):
    return server_log.Event(server_log.LogRecord("", timestamp=timestamp), "", "", clock)


def test_steps_have_their_own_seconds_and_those_since_the_first_line():
    line = timeline.Timeline()
    line.begin(event("2026-11-29T15:00:00.000000Z"))
    line.reach("banner", event("2026-11-29T15:00:04.500000Z"))
    line.reach("target_weights", event("2026-11-29T15:01:00.000000Z"))
    line.reach("ready", event("2026-11-29T15:01:10.000000+00:00"))
    assert line.phases() == [
        {"name": "banner", "seconds": 4.5, "elapsed": 4.5},
        {"name": "target_weights", "seconds": 55.5, "elapsed": 60.0},
        {"name": "ready", "seconds": 10.0, "elapsed": 70.0},
    ]


def test_a_step_of_all_ranks_is_over_with_the_last_one():
    line = timeline.Timeline()
    line.reach("banner", event("2026-11-29T15:00:00Z"))
    line.reach("draft_weights", event("2026-11-29T15:00:10Z"))
    line.reach("draft_weights", event("2026-11-29T15:00:30Z"))
    assert [step["elapsed"] for step in line.phases()] == [0.0, 30.0]


def test_without_a_journal_the_servers_own_times_are_taken():
    line = timeline.Timeline()
    line.begin(event(clock="2026-11-29 15:00:00"))
    line.reach("ready", event(clock="2026-11-29 15:00:20"))
    assert line.phases() == [{"name": "ready", "seconds": 20.0, "elapsed": 20.0}]


def test_the_two_clocks_are_not_mixed():
    line = timeline.Timeline()
    line.begin(event("2026-11-29T14:00:00Z", "2026-11-29 15:00:00"))
    line.reach("banner", event(clock="2026-11-29 15:00:20"))
    line.reach("ready", event("2026-11-29T14:00:30Z", "2026-11-29 15:00:30"))
    assert [step["elapsed"] for step in line.phases()] == [None, 30.0]


def test_a_log_without_times_has_steps_without_seconds():
    line = timeline.Timeline()
    line.reach("banner", event())
    line.reach("ready", event("no time at all"))
    assert [(step["name"], step["seconds"]) for step in line.phases()] == [("banner", None), ("ready", None)]
