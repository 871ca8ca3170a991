# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.readiness_wait import ReadinessWait
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import Answer, parse_url
from ansible_collections.llmops.sglang.plugins.module_utils.service import parse_show

REFUSED = Answer("refused")


def status(number):
    return Answer(str(number), number)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class ScriptedApi:
    """Answers by path from a list; the last answer of a list stays."""

    def __init__(self, answers, version=None):
        self.address = parse_url("http://127.0.0.1:30000")
        self.has_key = False
        self.asked = []
        self._answers = answers
        self._version = version

    def accepts(self):
        queue = self._answers["/health"] if "/health" in self._answers else next(iter(self._answers.values()))
        if queue[0].state == "refused":
            return queue.pop(0) if len(queue) > 1 else queue[0]
        return None

    def get(self, path, timeout):
        assert timeout > 0
        self.asked.append(path)
        queue = self._answers.get(path, [status(404)])
        return queue.pop(0) if len(queue) > 1 else queue[0]

    def server_info(self, timeout):
        return (200, {"version": self._version}) if self._version else (401, None)


class ScriptedInstance:
    """Trouble from the dies_at-th reading on; a foreigner holds the port during the readings in foreign."""

    def __init__(self, dies_at=None, foreign=()):
        self.instance = parse_show("sglang.service", "MainPID=0\n")
        self.readings = 0
        self._dies_at = dies_at
        self._foreign = foreign

    def trouble(self, now=False):
        self.readings += 1
        return "It is dead." if self._dies_at and self.readings >= self._dies_at else ""

    def listener_trouble(self):
        return "A foreigner." if self.readings in self._foreign else ""


def wait(api, watched=None, path="/health", **options):
    clock = Clock()
    return ReadinessWait(api, path, watched, clock=clock, sleep=clock.sleep, **options).run()


def test_loading_warming_up_and_ready_are_told_apart():
    api = ScriptedApi({"/health": [REFUSED] * 3 + [status(503)] * 2 + [status(200)]}, "0.5.12")
    outcome = wait(api)
    assert outcome.ready is True
    assert [(entry["state"], entry["count"]) for entry in outcome.history] == [("refused", 3), ("503", 2), ("200", 1)]
    assert outcome.proves == "generation"
    assert outcome.version == "0.5.12"
    assert "/health" in outcome.reason


def test_a_closed_port_is_not_asked_over_http():
    api = ScriptedApi({"/health": [REFUSED] * 50 + [status(200)]})
    assert wait(api).ready
    assert api.asked == ["/health"]


def test_a_single_503_of_a_busy_server_ends_nothing():
    api = ScriptedApi({"/health": [status(200), status(503), status(200), status(200)]})
    outcome = wait(api, consecutive=2)
    assert outcome.ready
    assert [entry["state"] for entry in outcome.history] == ["200", "503", "200"]


def test_an_endpoint_that_is_up_before_the_warm_up_ends_is_not_enough():
    api = ScriptedApi({"/v1/models": [status(200)], "/health": [status(503), status(503), status(200)]}, "0.5.23")
    outcome = wait(api, path="/v1/models")
    assert [(entry["state"], entry["count"]) for entry in outcome.history] == [("503", 2), ("200", 1)]
    assert outcome.proves == "generation"
    assert "/v1/models and /health" in outcome.reason


def test_a_release_whose_health_shows_nothing_must_generate():
    api = ScriptedApi({"/health": [status(200)], "/health_generate": [status(503), status(200)]}, "0.4.10")
    outcome = wait(api)
    assert outcome.proves == "generation"
    assert api.asked == ["/health", "/health_generate"] * 2


def test_a_server_without_health_is_ready_by_its_own_path_and_proves_little():
    outcome = wait(ScriptedApi({"/v1/models": [status(200)]}), path="/v1/models")
    assert outcome.ready
    assert outcome.proves == "http"


@pytest.mark.parametrize(
    "answer", [status(401), status(403), status(404), Answer("tls", error="its certificate expired")]
)
def test_what_waiting_can_not_change_ends_the_wait(answer):
    api = ScriptedApi({"/health": [status(503), answer]})
    outcome = wait(api)
    assert outcome.ready is False
    assert outcome.history[-1]["state"] == answer.state
    assert outcome.seconds < 5


def test_an_instance_that_dies_ends_the_wait_at_once():
    outcome = wait(ScriptedApi({"/health": [REFUSED]}), ScriptedInstance(dies_at=4))
    assert (outcome.ready, outcome.reason) == (False, "It is dead.")
    assert outcome.history[0]["count"] == 3


def test_a_200_counts_only_if_the_instance_is_still_there_afterwards():
    outcome = wait(ScriptedApi({"/health": [status(200)]}), ScriptedInstance(dies_at=2))
    assert (outcome.ready, outcome.reason) == (False, "It is dead.")
    assert outcome.history[-1]["state"] == "200"


def test_a_foreigner_is_not_asked_and_ends_the_wait_after_a_moment():
    api = ScriptedApi({"/health": [status(200)]})
    outcome = wait(api, ScriptedInstance(foreign=range(1, 1000)))
    assert (outcome.ready, outcome.reason) == (False, "A foreigner.")
    assert [entry["state"] for entry in outcome.history] == ["foreign"]
    assert api.asked == []
    assert outcome.seconds < 10


def test_a_foreigner_that_leaves_is_forgiven():
    outcome = wait(ScriptedApi({"/health": [REFUSED, status(200)]}), ScriptedInstance(foreign=(1, 2)))
    assert outcome.ready
    assert [entry["state"] for entry in outcome.history] == ["foreign", "refused", "200"]


def test_a_foreigner_who_was_the_one_to_answer_makes_nothing_ready():
    # It is seen only when the answer of 200 is confirmed: the second reading.
    outcome = wait(ScriptedApi({"/health": [status(200)]}), ScriptedInstance(foreign=range(2, 1000)))
    assert (outcome.ready, outcome.reason) == (False, "A foreigner.")


def test_time_ends_the_wait_and_the_last_state_is_explained():
    outcome = wait(ScriptedApi({"/health": [REFUSED, status(503)]}), timeout=60)
    assert outcome.ready is False
    assert 60 <= outcome.seconds < 61
    assert "warm-up" in outcome.reason


def test_a_load_of_half_an_hour_is_watched_gently():
    api = ScriptedApi({"/health": [Answer("timeout")]})
    outcome = wait(api, timeout=1800)
    assert outcome.history[0]["count"] <= 1801
