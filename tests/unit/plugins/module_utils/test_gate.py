from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import gate

HOSTS = ["gpu01", "gpu02", "gpu03", "gpu04", "gpu05", "gpu06"]


def record(verdict, batch=1):
    return {"verdict": verdict, "batch": batch}


def test_the_first_batch_may_act():
    decision = gate.decide(HOSTS, HOSTS[:1], {})
    assert decision.allowed
    assert decision.batch == 1


def test_a_batch_acts_when_every_earlier_host_is_proven():
    decision = gate.decide(HOSTS, HOSTS[2:4], {"gpu01": record("proven"), "gpu02": record("proven", 2)})
    assert decision.allowed
    assert decision.batch == 3


def test_one_earlier_host_without_proof_closes_the_gate():
    for found in (record("refuted"), record("inconclusive"), None):
        decision = gate.decide(HOSTS, HOSTS[2:], {"gpu01": record("proven"), "gpu02": found})
        assert not decision.allowed
        assert "gpu02" in decision.reason
        assert "gpu01" not in decision.reason


def test_records_of_this_batch_and_later_ones_do_not_count():
    records = {"gpu01": record("proven"), "gpu03": record("refuted"), "gpu06": record("refuted")}
    assert gate.decide(HOSTS, HOSTS[1:3], records).allowed


def test_many_hosts_without_proof_are_counted():
    decision = gate.decide(HOSTS, HOSTS[5:], {})
    assert "gpu03 is without a record and 2 more lack proof" in decision.reason
