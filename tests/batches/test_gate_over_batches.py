"""What Ansible's own brakes let through, our rollout does not: one host of the first batch goes wrong, in every way.

Seen on ansible-core 2.19 and 2.21, with ``serial: 2`` and a host of the first batch that goes wrong:

* a failure after a notify loses the restart of healthy mates, with ``max_fail_percentage: 0`` as with
  ``any_errors_fatal`` ──▶ ``..._stops_later_batches_and_spares_its_mates``, each ``gpu02``;
* ``force_handlers`` rolls on to the next batch, ``any_errors_fatal`` takes healthy mates into their rescue
  ──▶ ``..._brakes_that_the_operator_set_...``;
* a failed handler, in the flush or at the play's end, and a rescued host that does not fail again, let the next batch
  start ──▶ the rows of ``WRONG``, ``in the readiness handler`` among them;
* an unreachable host never stops a serial play, with or without ``any_errors_fatal``
  ──▶ ``..._unreachable_host_...``, ``..._lost_on_the_way_...``;
* ``ansible_play_hosts`` holds one batch only, so a gate that compares it never opens
  ──▶ ``..._clean_rollout_reaches_every_host_...``;
* a hard stop swallows the closing report ──▶ ``..._still_ends_in_the_report``, and the closing line in each of them.
"""

from __future__ import annotations

import pytest

REFUTED = {"failed": True, "msg": "No draft model was loaded.", "verdict": "refuted", "conditions": []}
REFUSED_UNIT = {"failed": True, "changed": False, "unproven": False, "msg": "systemd-analyze refuses it."}

# How gpu01 goes wrong, and what becomes of it.
WRONG = {
    "before anything is changed": ({"mtp_preflight": {"failed": True, "msg": "No draft path."}}, "untouched"),
    "while the unit is written": ({"service_unit__present": REFUSED_UNIT}, "untouched"),
    "at the restart": ({"service_restart": {"failed": True, "msg": "No start."}}, "rolled_back"),
    "without proof in the journal": ({"mtp_verify": REFUTED}, "rolled_back"),
    "in the readiness handler": ({"server_ready": {"failed": True, "msg": "Never ready."}}, "rolled_back"),
    "while drafts are to be accepted": (
        {"mtp_prove": {"failed": True, "verdict": "refuted", "msg": "None."}},
        "rolled_back",
    ),
    "during the soak": ({"mtp_soak": {"failed": True, "verdict": "refuted", "msg": "It died."}}, "rolled_back"),
    "at the last step": ({"service_unit__proven": {"failed": True, "msg": "Disk full."}}, "rolled_back"),
}


def add_rest(fleet):
    for name in ("gpu02", "gpu03", "gpu04"):
        fleet.add(name)


@pytest.mark.parametrize("how", list(WRONG))
def test_a_host_that_goes_wrong_stops_later_batches_and_spares_its_mates(fleet, how):
    script, action = WRONG[how]
    fleet.add("gpu01", **script)
    add_rest(fleet)
    run = fleet.run(mtp_batches=[2, 2])
    assert run.exit_code == 2
    assert (run.records["gpu01"]["verdict"] != "proven") and run.records["gpu01"]["action"] == action
    assert run.records["gpu02"]["verdict"] == "proven"
    assert run.calls["gpu02"] == [
        "mtp_preflight",
        "service_unit present",
        "mtp_prove",
        "service_restart",
        "mtp_verify",
        "server_ready",
        "mtp_prove",
        "mtp_soak",
        "service_unit proven",
    ]
    for later in ("gpu03", "gpu04"):
        assert run.calls[later] == []
        assert run.records[later]["action"] == "untouched"
        assert "gpu01" in run.records[later]["reason"]
    assert "1 of 4 hosts proven" in run.output


BRAKES = {"ANSIBLE_ANY_ERRORS_FATAL": "true", "ANSIBLE_FORCE_HANDLERS": "true", "ANSIBLE_STRATEGY": "free"}


@pytest.mark.parametrize("how", ["without proof in the journal", "in the readiness handler"])
def test_brakes_that_the_operator_set_in_ansible_change_nothing(fleet, how):
    fleet.add("gpu01", **WRONG[how][0])
    add_rest(fleet)
    run = fleet.run(mtp_batches=[2, 2], settings=BRAKES)
    assert run.exit_code == 2
    assert run.acted_on() == ["gpu01", "gpu02"]
    assert run.records["gpu02"]["action"] == "deployed"
    assert run.output.count("TASK [Open the ledger of this rollout]") == 1
    assert run.output.splitlines().count("1 of 4 hosts proven, 1 refuted, 2 inconclusive") == 1


def test_an_unreachable_host_stops_later_batches(fleet):
    fleet.add("gpu01", unreachable=True)
    add_rest(fleet)
    run = fleet.run(mtp_batches=[2, 2])
    assert run.exit_code == 2
    assert (run.records["gpu01"]["verdict"], run.records["gpu01"]["action"]) == ("inconclusive", "untouched")
    assert run.records["gpu02"]["verdict"] == "proven"
    assert run.acted_on() == ["gpu02"]
    assert run.records["gpu01"]["reason"].startswith("The host can't be reached: ")
    assert "gpu01 is inconclusive" in run.records["gpu03"]["reason"]
    assert "1 of 4 hosts proven" in run.output


@pytest.mark.parametrize(
    "step",
    ["service_unit__present", "service_restart", "mtp_verify", "server_ready", "mtp_soak", "service_unit__proven"],
)
def test_a_host_that_is_lost_on_the_way_is_never_proven(fleet, step):
    fleet.add("gpu01", **{step: {"unreachable": True, "changed": False, "msg": "Connection timed out."}})
    fleet.add("gpu02")
    run = fleet.run(mtp_batches=[1])
    assert run.exit_code == 2
    assert run.records["gpu01"]["verdict"] == "inconclusive"
    assert "Connection timed out." in run.records["gpu01"]["reason"]
    assert run.acted_on() in (["gpu01"], [])
    assert "gpu01 is inconclusive" in run.records["gpu02"]["reason"]


def test_an_unreachable_host_and_a_failing_one_in_the_same_batch(fleet):
    fleet.add("gpu01", unreachable=True)
    fleet.add("gpu02", mtp_verify=REFUTED)
    fleet.add("gpu03")
    run = fleet.run(mtp_batches=[2, 1])
    assert run.exit_code == 2
    assert run.acted_on() == ["gpu02"]
    assert run.records["gpu02"]["action"] == "rolled_back"
    assert "0 of 3 hosts proven" in run.output


@pytest.mark.parametrize(
    ("how", "acted_on", "closing_line"),
    [
        ({"mtp_verify": REFUTED}, ["gpu01"], "0 of 4 hosts proven, 1 refuted, 3 inconclusive"),
        ({"unreachable": True}, [], "0 of 4 hosts proven, 4 inconclusive"),
    ],
    ids=["refuted", "unreachable"],
)
def test_a_first_batch_of_one_that_fails_wholly_still_ends_in_the_report(fleet, how, acted_on, closing_line):
    fleet.add("gpu01", **how)
    add_rest(fleet)
    run = fleet.run()
    assert run.exit_code == 2
    assert run.acted_on() == acted_on
    assert closing_line in run.output


def test_a_bad_variable_of_one_host_is_its_reason(fleet):
    fleet.add("gpu01", variables={"mtp_port": "eighty"})
    add_rest(fleet)
    run = fleet.run(mtp_batches=[2, 2])
    assert run.exit_code == 2
    assert "mtp_port" in run.records["gpu01"]["reason"]
    assert run.records["gpu02"]["verdict"] == "proven"


def test_a_clean_rollout_reaches_every_host_and_exits_with_zero(fleet):
    fleet.add("gpu01")
    add_rest(fleet)
    run = fleet.run()
    assert run.exit_code == 0
    assert {record["verdict"] for record in run.records.values()} == {"proven"}
    assert [run.records[host]["batch"] for host in sorted(run.records)] == [1, 2, 3, 3]


def test_the_server_that_was_brought_back_is_not_asked_on_behalf_of_the_one_that_failed(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    run = fleet.run()
    assert run.calls["gpu01"][-4:] == ["service_unit restored", "service_restart", "server_ready", "mtp_prove"]


def test_a_limit_does_not_swallow_the_report(fleet):
    fleet.add("gpu01", mtp_verify=REFUTED)
    add_rest(fleet)
    run = fleet.run("deploy_mtp", "--limit", "gpu01")
    assert run.exit_code == 2
    assert "0 of 1 hosts proven, 1 refuted" in run.output


def test_an_old_server_that_is_not_back_is_said_first_of_all(fleet):
    fleet.add("gpu01", server_ready={"failed": True, "ready": False, "msg": "It died."})
    run = fleet.run()
    assert "THE LAST KNOWN GOOD SERVER IS NOT BACK: It died." in run.records["gpu01"]["reason"]
    assert "NOT BACK" in run.output


def test_check_mode_acts_on_nothing_and_writes_no_ledger(fleet):
    fleet.add("gpu01")
    add_rest(fleet)
    run = fleet.run("deploy_mtp", "--check")
    assert run.exit_code == 0
    assert run.records == {}
    assert not [
        call for calls in run.calls.values() for call in calls if call.startswith(("mtp_verify", "server_ready"))
    ]


def test_check_mode_prints_the_plan(fleet):
    fleet.add("gpu01", service_unit__present={"restart_needed": True, "restart_reason": "the service is inactive"})
    fleet.add("gpu02", service_unit__present={"changed": False, "restart_needed": False, "unproven": False})
    fleet.add("gpu03", mtp_preflight={"failed": True, "msg": "No draft path."})
    run = fleet.run("deploy_mtp", "--check", mtp_batches=[1, 2])
    assert (
        "batch 1  gpu01  the unit would be written; the server would be restarted: the service is inactive"
        in run.output
    )
    assert "batch 2  gpu02  nothing to do but to prove it again" in run.output
    assert "batch 2  gpu03  would fail: No draft path." in run.output
    assert run.exit_code == 2


def test_batches_can_stand_in_the_inventory(fleet):
    for name in ("gpu01", "gpu02", "gpu03", "gpu04"):
        fleet.add(name, variables={"mtp_batches": "1,2"})
    run = fleet.run()
    assert run.exit_code == 0
    assert [run.records[host]["batch"] for host in sorted(run.records)] == [1, 2, 2, 3]


def test_sizes_that_are_none_are_refused_before_any_host_is_touched(fleet):
    add_rest(fleet)
    run = fleet.run(mtp_batches="all")
    assert run.exit_code == 2
    assert "mtp_batches is ['all']" in run.output
    assert not any(run.calls.values())


def test_a_batch_that_is_larger_than_the_forks_is_said(fleet):
    add_rest(fleet)
    run = fleet.run("verify_mtp", "--forks", "2")
    assert "The largest batch has 3 hosts, but only 2 can act at the same time" in " ".join(run.output.split())
