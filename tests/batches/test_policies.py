"""What the operator may let pass, and what stays shut."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

REFUTED = {"failed": True, "msg": "No draft model was loaded.", "verdict": "refuted", "conditions": []}
NO_EVIDENCE = {"failed": True, "msg": "The journal is gone.", "verdict": "inconclusive", "conditions": []}


def test_a_failure_budget_lets_the_rollout_go_on_and_the_run_still_fails(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[1], mtp_failure_budget=1)
    assert run.records["gpu02"]["verdict"] == "proven"
    assert run.exit_code == 2


def test_a_budget_over_the_fleet_is_used_up_across_batches(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    fleet.add("gpu02", mtp_verify=REFUTED)
    fleet.add("gpu03")
    run = fleet.run(mtp_batches=[1], mtp_failure_budget=1)
    assert run.acted_on() == ["gpu01", "gpu02"]
    assert "gpu01 is refuted, gpu02 is refuted" in run.records["gpu03"]["reason"]


def test_accepting_the_inconclusive_lets_the_next_batch_act(fleet):
    fleet.add("gpu01", mtp_verify=NO_EVIDENCE)
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[1], mtp_on_inconclusive="accept")
    assert run.records["gpu02"]["verdict"] == "proven"
    assert run.exit_code == 2


def test_a_confirmation_without_a_terminal_is_no(fleet):
    fleet.add("gpu01")
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[1], mtp_confirm="canary")
    assert run.acted_on() == ["gpu01"]
    assert "There is no terminal" in run.records["gpu02"]["reason"]
    assert run.exit_code == 2


def test_the_whole_batch_goes_back_when_the_policy_says_so(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[2], mtp_rollback_scope="batch")
    assert "service_unit restored" in run.calls["gpu02"]
    record = run.records["gpu02"]
    assert (record["verdict"], record["action"], record["attempt"]) == ("inconclusive", "rolled_back", 2)
    assert "gpu01 is refuted" in record["reason"]


def test_a_healthy_mate_stays_when_only_the_host_goes_back(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[2])
    assert "service_unit restored" not in run.calls["gpu02"]
    assert run.records["gpu02"]["verdict"] == "proven"


def test_a_wrong_policy_names_itself_before_any_host_is_touched(fleet):
    fleet.add("gpu01")
    run = fleet.run(mtp_on_inconclusive="hope")
    assert run.exit_code != 0
    assert "on_inconclusive" in run.output
    assert run.acted_on() == []


def test_a_second_run_is_refused_while_the_first_lives(fleet):
    fleet.add("gpu01")
    ledger = fleet.folder / "inventory" / "mtp-ledger"
    ledger.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        stat = pathlib.Path("/proc/%d/stat" % other.pid).read_text(encoding="utf-8")
        started = int(stat.rpartition(")")[2].split()[19])
        lock = {"pid": other.pid, "started": started, "machine": os.uname().nodename, "rollout": "deploy-1"}
        (ledger / "lock.json").write_text(json.dumps(lock))
        refused = fleet.run()
        audit = fleet.run("verify_mtp")
        other.kill()
    assert refused.exit_code != 0
    assert "deploy-1" in refused.output
    assert refused.acted_on() == []
    assert audit.exit_code == 0
    assert fleet.run().exit_code == 0


def test_a_rollback_goes_batch_by_batch_too(fleet):
    fleet.add("gpu01", service_unit__restored={"failed": True, "changed": False, "msg": "There is no last known good."})
    fleet.add("gpu02")
    run = fleet.run("rollback_mtp")
    assert run.exit_code == 2
    assert "There is no last known good." in run.records["gpu01"]["reason"]
    assert run.calls["gpu02"] == []


def test_a_rollback_skips_hosts_that_were_never_deployed_to(fleet):
    fleet.add("gpu01", service_unit__restored={"changed": False, "restart_needed": False, "nothing_to_restore": True})
    fleet.add("gpu02")
    run = fleet.run("rollback_mtp")
    assert run.exit_code == 0
    assert {host: record["action"] for host, record in run.records.items()} == {
        "gpu01": "skipped",
        "gpu02": "rolled_back",
    }
    assert run.calls["gpu01"] == ["mtp_preflight", "service_unit restored"]


def test_a_rollback_has_a_plan_too(fleet):
    fleet.add("gpu01")
    run = fleet.run("rollback_mtp", "--check")
    assert run.exit_code == 0
    assert "gpu01  the unit would be written; the server would be restarted: scripted" in run.output
    assert run.calls["gpu01"] == ["mtp_preflight", "service_unit restored", "service_restart"]
