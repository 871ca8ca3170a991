from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import plan

REASON = "the running instance was started from another unit"
RESTART = {"changed": True, "restart_needed": True, "restart_reason": REASON}
NOTHING = {"changed": False, "restart_needed": False, "restart_reason": ""}
BATCHES = [["gpu01"], ["gpu02", "gpu03"]]


def finding(unit=None, problem=""):
    return {"unit": unit or NOTHING, "problem": problem}


def plan_of(first=None, second=None, third=None, seconds=None):
    findings = {"gpu01": finding(first), "gpu02": finding(second), "gpu03": finding(third)}
    return plan.lines(BATCHES, findings, seconds or {})


def test_each_host_has_its_batch_and_what_would_become_of_it():
    text = plan_of(first=RESTART)
    assert "  batch 1  gpu01  the unit would be written; the server would be restarted: " in text[1]
    assert text[1].endswith(REASON)
    assert text[2] == "  batch 2  gpu02  nothing to do but to prove it again"


def test_what_going_back_would_do():
    text = plan_of(first={"changed": False, "nothing_to_restore": True}, second={"changed": True, "removed": True})
    assert "there is nothing to go back to" in text[1]
    assert "it would be removed, and the server stopped" in text[2]


def test_a_host_that_can_not_be_deployed_says_why():
    findings = {"gpu01": finding(problem="No draft path."), "gpu02": finding(), "gpu03": finding()}
    assert plan.lines(BATCHES, findings, {})[1].endswith("would fail: No draft path.")


def test_batches_follow_each_other_and_each_takes_as_long_as_its_slowest_start():
    text = plan_of(RESTART, RESTART, RESTART, {"gpu01": 100.0, "gpu02": 200.0, "gpu03": 50.0})
    assert text[-1] == "By the ledger's earlier starts the servers load for about 300 s in all."


def test_starts_that_are_not_known_are_said():
    assert "not known yet" in plan_of(first=RESTART)[-1]
    assert "No earlier start is known of 1 of them." in plan_of(RESTART, RESTART, seconds={"gpu01": 9.0})[-1]


def test_no_restart_takes_no_time():
    assert plan_of()[-1] == "No server would be restarted."
