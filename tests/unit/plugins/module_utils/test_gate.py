from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import gate

HOSTS = ["gpu01", "gpu02", "gpu03", "gpu04", "gpu05", "gpu06"]


def record(verdict, batch=1, action="deployed"):
    return {"verdict": verdict, "batch": batch, "action": action}


def decide(batch_hosts, records, **policy):
    return gate.decide(HOSTS, batch_hosts, records, gate.Policy(**policy))


def test_the_first_batch_may_act():
    decision = decide(HOSTS[:1], {})
    assert decision.allowed
    assert decision.batch == 1


def test_a_batch_acts_when_every_earlier_host_is_proven():
    decision = decide(HOSTS[2:4], {"gpu01": record("proven"), "gpu02": record("proven", 2)})
    assert decision.allowed
    assert decision.batch == 3


@pytest.mark.parametrize("found", [record("refuted"), record("inconclusive"), None])
def test_one_earlier_host_without_proof_closes_the_gate(found):
    decision = decide(HOSTS[2:], {"gpu01": record("proven"), "gpu02": found})
    assert not decision.allowed
    assert not decision.ask
    assert "gpu02" in decision.reason
    assert "gpu01" not in decision.reason


def test_records_of_this_batch_and_later_ones_do_not_count():
    records = {"gpu01": record("proven"), "gpu03": record("refuted"), "gpu06": record("refuted")}
    assert decide(HOSTS[1:3], records).allowed


def test_many_hosts_without_proof_are_counted():
    assert "gpu03 is without a record and 2 more lack proof" in decide(HOSTS[5:], {}).reason


def test_a_failure_budget_counts_over_the_whole_fleet():
    records = {"gpu01": record("refuted"), "gpu02": record("proven", 2), "gpu03": record("refuted", 3)}
    assert decide(HOSTS[3:], records, failure_budget=2).allowed
    assert not decide(HOSTS[3:], records, failure_budget=1).allowed


def test_what_is_let_through_by_policy_is_said():
    decision = decide(HOSTS[1:], {"gpu01": record("refuted")}, failure_budget=1)
    assert "by policy" in decision.reason
    assert "gpu01 is refuted" in decision.reason


def test_inconclusive_hosts_stop_are_accepted_or_asked_about():
    records = {"gpu01": record("inconclusive")}
    assert not decide(HOSTS[1:], records).allowed
    assert decide(HOSTS[1:], records, on_inconclusive="accept").allowed
    assert decide(HOSTS[1:], records, on_inconclusive="wait").ask


def test_accepting_the_inconclusive_never_accepts_the_refuted_nor_the_unrecorded():
    for found in (record("refuted"), None):
        decision = decide(HOSTS[1:], {"gpu01": found}, on_inconclusive="accept")
        assert not decision.allowed
        assert not decision.ask


@pytest.mark.parametrize(("confirm", "asked"), [("never", []), ("canary", [2]), ("every_batch", [2, 3])])
def test_the_operator_is_asked_as_wanted(confirm, asked):
    records = {"gpu01": record("proven", 1), "gpu02": record("proven", 2)}
    batches = [decide(HOSTS[index : index + 1], records, confirm=confirm) for index in range(3)]
    assert [decision.batch for decision in batches if decision.ask] == asked


def test_the_healthy_rest_of_a_batch_is_taken_back_with_a_reason():
    records = {"gpu01": record("proven"), "gpu02": record("refuted", action="rolled_back"), "gpu03": record("proven")}
    hosts, reason = gate.to_take_back(HOSTS[:3], records)
    assert hosts == ["gpu01", "gpu03"]
    assert "gpu02 is refuted" in reason


def test_a_host_that_this_run_did_not_change_is_not_taken_back():
    records = {"gpu01": record("proven", action="skipped"), "gpu02": record("refuted", action="rolled_back")}
    assert gate.to_take_back(HOSTS[:2], records)[0] == []


def test_a_proven_batch_stays():
    assert gate.to_take_back(HOSTS[:1], {"gpu01": record("proven")}) == ([], "")
