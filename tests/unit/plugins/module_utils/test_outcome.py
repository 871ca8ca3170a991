from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import outcome

WRITTEN = {"changed": True, "unproven": True, "instance": {"invocation_id": "old"}}
RESTARTED = {"changed": True, "instance": {"invocation_id": "new"}}
PROVEN = {"verdict": "proven", "reason": "All five hold.", "conditions": [{"name": "x"}]}
REFUTED = {"verdict": "refuted", "reason": "No draft model.", "conditions": []}


def reached(**steps):
    return outcome.deployment_outcome(steps)


def test_a_deployment_with_proof():
    record = reached(unit=WRITTEN, restart=RESTARTED, verify=PROVEN, ready={"ready": True})
    assert (record["verdict"], record["action"], record["reason"]) == ("proven", "deployed", "All five hold.")
    assert record["invocation_id"] == "new"
    assert record["conditions"] == PROVEN["conditions"]


def test_a_rerun_that_changes_nothing_is_skipped_and_proven():
    unit = {"changed": False, "unproven": False, "instance": {"invocation_id": "same"}}
    record = reached(unit=unit, verify=PROVEN, ready={"ready": True})
    assert (record["verdict"], record["action"]) == ("proven", "skipped")


def test_a_refuted_instance_is_rolled_back():
    record = reached(
        unit=WRITTEN, restart=RESTARTED, verify=REFUTED, failure={"msg": "No draft model"}, restored={"ready": True}
    )
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert record["reason"] == "No draft model. The last known good server is back and ready."


def test_a_server_that_never_gets_ready_is_refuted_although_its_journal_looked_right():
    record = reached(
        unit=WRITTEN, restart=RESTARTED, verify=PROVEN, failure={"msg": "Not ready."}, restored={"ready": True}
    )
    assert record["verdict"] == "refuted"


@pytest.mark.parametrize("verdict", ["refuted", "inconclusive"])
def test_the_proof_by_generation_has_the_word_over_the_journal(verdict):
    proof = {"verdict": verdict, "reason": "No draft was correct.", "accept_length": 1.02}
    record = reached(
        unit=WRITTEN, restart=RESTARTED, verify=PROVEN, prove=proof, failure={"msg": "No draft was correct."}
    )
    assert record["verdict"] == verdict
    assert record["accept_length"] == 1.02


def test_a_soak_that_ends_badly_takes_the_proof_back_with_its_diagnosis():
    causes = [{"code": "oom", "summary": "s", "remedy": "r"}]
    failure = {"msg": "It died.", "diagnosis": causes}
    record = reached(
        unit=WRITTEN,
        verify=PROVEN,
        prove=PROVEN,
        soak={"verdict": "refuted"},
        failure=failure,
        restored={"ready": True},
    )
    assert (record["verdict"], record["diagnosis"]) == ("refuted", causes)


def test_the_reason_of_a_proof_names_all_it_rests_on():
    proof = {"verdict": "proven", "reason": "Drafts are accepted."}
    soak = {"verdict": "proven", "reason": "It stayed healthy."}
    record = reached(unit=WRITTEN, restart=RESTARTED, verify=PROVEN, prove=proof, soak=soak)
    assert record["reason"] == "All five hold. Drafts are accepted. It stayed healthy."


def test_an_old_server_that_is_not_back_is_said_loudly():
    record = reached(unit=WRITTEN, verify=REFUTED, failure={"msg": "x"}, restored={"msg": "It died."})
    assert "NOT BACK: It died." in record["reason"]


def test_a_failure_before_any_change_leaves_the_host_untouched():
    record = reached(failure={"msg": "The draft path does not exist."})
    assert (record["verdict"], record["action"]) == ("inconclusive", "untouched")
    assert record["reason"] == "The draft path does not exist. Nothing was changed on this host."


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        ({}, False),
        ({"unit": {"changed": False, "unproven": False}}, False),
        ({"unit": {"changed": False, "unproven": True}}, True),
        ({"unit": {"changed": False}, "restart": {"changed": True}}, True),
        ({"unit": {"changed": True}, "restart": {"changed": True}, "check_mode": True}, False),
        ({"unit": {"changed": False}, "restart": {"changed": False, "skipped": True}}, False),
    ],
)
def test_going_back_is_called_for_only_when_the_node_is_not_as_it_was_found(steps, changed):
    assert outcome.node_was_changed(steps) is changed


def test_an_audit_leaves_untouched_whatever_it_sees():
    assert outcome.audit_outcome({"verify": PROVEN})["action"] == "untouched"
    seen = outcome.audit_outcome({"verify": REFUTED, "failure": {"msg": "No draft model."}})
    assert (seen["verdict"], seen["reason"], seen["action"]) == ("refuted", "No draft model.", "untouched")


@pytest.mark.parametrize(
    ("restored", "verdict"),
    [
        ({"ready": True}, "proven"),
        ({"ready": None}, "proven"),
        ({"ready": True, "failed": True}, "refuted"),
        ({"removed": True}, "proven"),
        ({"msg": "no way back"}, "refuted"),
        ({}, "refuted"),
    ],
)
def test_a_rollback_is_proven_when_the_old_server_is_ready(restored, verdict):
    record = outcome.rollback_outcome({"restored": restored, "unit_restored": {"changed": True}})
    assert (record["verdict"], record["action"]) == (verdict, "rolled_back")


def test_a_rollback_that_changes_nothing_is_skipped():
    assert outcome.rollback_outcome({"restored": {"ready": True}})["action"] == "skipped"


def test_a_host_whose_group_does_not_come_along_has_shown_nothing_wrong():
    hindered = {"msg": "Of its mtp_group gpu02 did not get through this step (start 1), and a group acts as one."}
    steps = {"unit": WRITTEN, "restart": RESTARTED, "verify": PROVEN, "failure": hindered, "restored": {"ready": True}}
    record = outcome.deployment_outcome(steps)
    assert (record["verdict"], record["action"]) == ("inconclusive", "rolled_back")


def test_a_host_that_was_lost_on_its_way_back_still_has_what_was_deployed():
    lost = {"unreachable": True, "msg": "Connection timed out"}
    steps = {"unit": WRITTEN, "restart": RESTARTED, "verify": lost, "failure": lost, "restored": {"msg": "lost"}}
    assert outcome.deployment_outcome(steps)["action"] == "deployed"


def test_a_module_that_was_cut_off_is_called_that():
    cut_off = {"msg": "Module result deserialization failed: No start of json char found"}
    record = outcome.deployment_outcome({"unit": WRITTEN, "failure": cut_off, "restored": {"ready": True}})
    assert record["reason"].startswith("A step on the host was cut off, as when it reboots")


def test_a_rollback_of_a_host_that_was_never_deployed_to_is_skipped():
    record = outcome.rollback_outcome({"restored": {"nothing_to_restore": True, "removed": False}})
    assert (record["verdict"], record["action"]) == ("proven", "skipped")
    assert "nothing to go back to" in record["reason"]


@pytest.mark.parametrize("step", ["unit", "restart", "verify", "ready", "prove", "soak", "admitted", "marked"])
def test_a_host_that_was_lost_on_the_way_is_never_proven(step):
    steps = {"unit": WRITTEN, "restart": RESTARTED, "verify": PROVEN, "prove": PROVEN, "soak": PROVEN}
    steps[step] = dict(steps.get(step, {}), unreachable=True, msg="Connection timed out")
    assert outcome.lost_host(steps) == "The host can't be reached: Connection timed out"
    assert outcome.deployment_outcome(steps)["verdict"] == "inconclusive"
    assert outcome.audit_outcome(steps)["verdict"] == "inconclusive"


def test_a_start_that_was_watched_to_its_end_is_timed():
    phases = [{"name": "banner", "elapsed": 9.0}, {"name": "ready", "elapsed": 61.5}]
    verify = dict(PROVEN, phases=phases)
    assert reached(unit=WRITTEN, restart=RESTARTED, verify=verify)["start_seconds"] == 61.5
    assert reached(unit=WRITTEN, restart=RESTARTED, verify=dict(PROVEN, phases=phases[:1]))["start_seconds"] is None
    assert reached(verify=verify)["start_seconds"] is None
