# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import readiness
from ansible_collections.llmops.sglang.plugins.module_utils.listener import Listener
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import Answer
from ansible_collections.llmops.sglang.plugins.module_utils.service import parse_show

RUNNING = """LoadState=loaded
ActiveState=active
SubState=running
Result=success
InvocationID=aaaa
MainPID=700
"""


def instance(**changes):
    text = RUNNING
    for name, value in changes.items():
        text += "%s=%s\n" % (name, value)
    return parse_show("sglang.service", text)


def test_looks_in_a_row_that_saw_the_same_are_one_entry():
    history = readiness.History()
    for seconds, state in enumerate(["refused", "refused", "503", "200", "503", "200"]):
        history.add(state, seconds)
    assert [(entry["state"], entry["from_seconds"], entry["count"]) for entry in history.entries()] == [
        ("refused", 0, 2),
        ("503", 2, 1),
        ("200", 3, 1),
        ("503", 4, 1),
        ("200", 5, 1),
    ]
    assert history.last == "200"


@pytest.mark.parametrize("state", ["refused", "503", "200", "reset"])
def test_the_moment_of_readiness_is_seen_within_half_a_second(state):
    assert 0.1 <= readiness.pause(state) < 0.5


def test_what_is_no_hurry_is_not_hurried_and_an_interval_is_obeyed():
    assert readiness.pause("timeout") >= 1
    assert readiness.pause("refused", 10) == 10


@pytest.mark.parametrize(
    "path, version, generates, proven, companion",
    [
        ("/health", "0.5.12", True, "generation", ""),
        ("/health", "", True, "generation", ""),
        ("/health", "0.5.1", True, "generation", ""),
        ("/health", "0.4.10", True, "http", "/health_generate"),
        ("/health", "0.5.12", False, "requests", ""),
        ("/health_generate", "0.4.6", True, "generation", ""),
        ("/health_generate", "0.5.12", False, "generation", ""),
        ("/ready", "0.5.20", True, "requests", ""),
        ("/v1/models", "0.5.23", True, "http", "/health"),
        ("/v1/models", "0.4.6", True, "http", "/health_generate"),
        ("/server_info", "", True, "http", "/health"),
    ],
)
def test_what_a_200_proves_depends_on_endpoint_and_release(path, version, generates, proven, companion):
    assert readiness.what_it_proves(path, version, generates) == proven
    assert readiness.companion_path(path, version) == companion


@pytest.mark.parametrize("version, numbers", [("0.5.10.post1", (0, 5, 10)), ("0.5.9rc1", (0, 5, 9)), ("0.5", (0, 5))])
def test_releases_compare_as_numbers(version, numbers):
    assert readiness.release_numbers(version) == numbers


@pytest.mark.parametrize(
    "state, has_key, clue",
    [
        ("401", False, "got none (api_key or api_key_file)"),
        ("401", True, "the one it got is another"),
        ("403", True, "403 (Forbidden) on /v1/models"),
        ("404", False, "no such endpoint"),
        ("tls", False, "self-signed"),
    ],
)
def test_what_waiting_can_not_change_is_said_as_such(state, has_key, clue):
    sentence = readiness.end_of_wait(Answer(state, error="self-signed"), "http://gpu01:30000", "/v1/models", has_key)
    assert clue in sentence
    assert "http://gpu01:30000" in sentence


@pytest.mark.parametrize("state", ["200", "503", "500", "refused", "timeout", "reset", "garbled", "unreachable"])
def test_everything_else_may_still_change(state):
    assert readiness.end_of_wait(Answer(state), "http://gpu01:30000", "/health", False) == ""


@pytest.mark.parametrize("state", ["active", "activating", "reloading"])
def test_a_living_instance_is_no_trouble(state):
    assert readiness.instance_trouble(instance(ActiveState=state), "aaaa") == ""
    assert readiness.instance_trouble(instance(ActiveState=state), "") == ""


@pytest.mark.parametrize(
    "changes, clues",
    [
        ({"LoadState": "not-found"}, ["no unit sglang.service", "not-found"]),
        ({"InvocationID": "bbbb"}, ["aaaa", "was replaced by bbbb"]),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "1"}, ["is dead", "exit-code", "status 1"]),
        ({"ActiveState": "failed", "Result": "signal", "ExecMainStatus": "9"}, ["is dead", "killed by signal 9"]),
        ({"ActiveState": "deactivating", "SubState": "stop-sigterm"}, ["is dead", "stop-sigterm"]),
        ({"ActiveState": "activating", "SubState": "auto-restart"}, ["is dead", "auto-restart"]),
        ({"ActiveState": "activating", "SubState": "auto-restart-queued"}, ["is dead"]),
    ],
)
def test_an_instance_that_can_not_get_ready_any_more_says_why(changes, clues):
    trouble = readiness.instance_trouble(instance(**changes), "aaaa")
    assert all(clue in trouble for clue in clues)


def test_a_unit_that_was_never_started_says_so():
    never = parse_show("sglang.service", "LoadState=loaded\nActiveState=inactive\nSubState=dead\n")
    assert "sglang.service is dead: inactive (dead), it was never started" in readiness.instance_trouble(never, "")


def test_a_foreigner_on_the_port_is_named():
    orphan = Listener(4711, "python -m sglang.launch_server", "2026-03-01T12:00:00Z", False, False)
    sentence = readiness.listener_trouble(orphan, "sglang.service", 30000)
    for clue in ("30000", "4711", "python -m sglang.launch_server", "2026-03-01T12:00:00Z", "verify_listener"):
        assert clue in sentence


def test_what_an_earlier_instance_left_over_is_called_that():
    orphan = Listener(4711, "python", "", True, False)
    assert "left over from an earlier instance of sglang.service" in readiness.listener_trouble(
        orphan, "sglang.service", 1
    )


@pytest.mark.parametrize(
    "state, clue",
    [("refused", "still loading"), ("503", "warm-up"), ("timeout", "no answer"), ("500", "it answered 500")],
)
def test_a_wait_that_was_too_long_says_what_was_seen_last(state, clue):
    sentence = readiness.timeout_reason("http://gpu01:30000", "/health", 1800, state)
    assert clue in sentence
    assert "1800 s" in sentence


def test_a_follower_is_not_judged_but_a_dead_one_is():
    alive, dead = readiness.of_follower(1, ""), readiness.of_follower(1, "It is dead.")
    assert alive.ready is None
    assert "rank 0" in alive.reason
    assert (dead.ready, dead.reason) == (False, "It is dead.")


GOOD = {"path": "/health", "timeout": 1.0, "request_timeout": 1.0, "interval": None, "consecutive": 1, "node_rank": 0}


@pytest.mark.parametrize(
    "name, value",
    [
        ("path", "health"),
        ("timeout", 0.0),
        ("timeout", float("nan")),
        ("request_timeout", -1.0),
        ("interval", 0.0),
        ("consecutive", 0),
        ("node_rank", -1),
    ],
)
def test_an_option_that_makes_no_sense_is_named(name, value):
    problem = readiness.option_problem(dict(GOOD, **{name: value}))
    assert problem.startswith("%s is" % name)
    assert readiness.option_problem(GOOD) == ""
