"""Hosts that serve one model together: one batch, one restart, one verdict."""

from __future__ import annotations

import pytest

REFUTED = {"failed": True, "msg": "No draft model was loaded.", "verdict": "refuted", "conditions": []}
DIED = {"failed": True, "msg": "It died.", "verdict": "refuted", "diagnosis": [{"code": "child_died"}]}
NO_RESTART = {"changed": False, "unproven": False, "restart_needed": False}


def add_group(fleet, *scripts, name="a", first=1):
    """A group of hosts gpu01, gpu02 …, one for each script, with the ranks 0, 1 …"""
    for rank, script in enumerate(scripts):
        variables = {"mtp_group": name, "mtp_node_rank": rank, "mtp_dist_init_addr": "10.0.0.1:20000"}
        fleet.add("gpu%02d" % (first + rank), variables=variables, **script)


def test_a_group_is_deployed_in_one_batch_and_only_rank_0_is_asked(fleet):
    add_group(fleet, {}, {"service_unit__present": {"running_node_rank": 1}})
    fleet.add("gpu03")
    run = fleet.run(mtp_batches=[1])
    assert run.exit_code == 0
    assert {host: record["batch"] for host, record in run.records.items()} == {"gpu01": 1, "gpu02": 1, "gpu03": 2}
    assert run.calls["gpu01"].count("mtp_prove") == 2
    assert "mtp_prove" not in run.calls["gpu02"]
    assert "mtp_verify" in run.calls["gpu02"]


@pytest.mark.parametrize(
    ("rank", "how"),
    [
        (2, {"service_restart": {"failed": True, "msg": "No start."}}),
        (1, {"mtp_verify": REFUTED}),
        (0, {"mtp_prove": {"failed": True, "verdict": "refuted", "msg": "No draft was accepted."}}),
        (2, {"service_unit__proven": {"failed": True, "msg": "Disk full."}}),
        (0, {"mtp_verify": {"unreachable": True, "changed": False, "msg": "Connection timed out."}}),
    ],
    ids=["no start", "refuted", "no draft accepted", "at the last step", "lost"],
)
def test_a_group_goes_back_as_one_when_any_host_of_it_lacks_proof(fleet, rank, how):
    add_group(fleet, *[how if number == rank else {} for number in range(3)])
    fleet.add("gpu04")
    run = fleet.run(mtp_batches=[1])
    assert run.exit_code == 2
    for host in ("gpu01", "gpu02", "gpu03"):
        assert run.records[host]["verdict"] != "proven"
        assert run.calls[host][run.calls[host].index("service_unit restored") + 1] == "service_restart"
        assert run.records[host]["action"] == "rolled_back"
    assert "gpu%02d of its mtp_group" % (rank + 1) not in run.records["gpu%02d" % (rank + 1)]["reason"]
    assert "Of its mtp_group gpu%02d did not" % (rank + 1) in run.records["gpu%02d" % ((rank + 1) % 3 + 1)]["reason"]
    assert run.calls["gpu04"] == []


@pytest.mark.parametrize(
    ("rank", "how"),
    [
        (0, {"mtp_preflight": {"failed": True, "msg": "No draft path."}}),
        (1, {"service_unit__present": {"failed": True, "changed": False, "unproven": False, "msg": "Refused."}}),
        (1, {"unreachable": True}),
    ],
    ids=["preflight", "unit", "unreachable"],
)
def test_no_server_of_a_group_is_restarted_when_one_of_them_can_not_be(fleet, rank, how):
    add_group(fleet, *[how if number == rank else {"service_unit__restored": NO_RESTART} for number in range(2)])
    run = fleet.run()
    assert run.exit_code == 2
    assert not [host for host, calls in run.calls.items() if "service_restart" in calls]
    assert {record["verdict"] for record in run.records.values()} <= {"refuted", "inconclusive"}


def test_a_server_that_would_not_be_restarted_is_restarted_with_its_group(fleet):
    add_group(fleet, {"service_unit__present": NO_RESTART}, {})
    run = fleet.run()
    assert run.exit_code == 0
    assert ["service_restart" in run.calls[host] for host in ("gpu01", "gpu02")] == [True, True]


def test_the_plan_says_which_servers_are_restarted_with_their_group(fleet):
    add_group(fleet, {"service_unit__present": NO_RESTART}, {})
    run = fleet.run("deploy_mtp", "--check")
    assert "gpu01  the server would be restarted: another server of its group has to be restarted" in run.output


def test_a_server_that_served_alone_is_drained_before_it_joins_a_group(fleet):
    add_group(fleet, {}, {})
    run = fleet.run(mtp_router_urls=["http://router:30100"])
    assert run.exit_code == 0
    assert "router_worker drained" in run.calls["gpu02"]
    assert "router_worker present" not in run.calls["gpu02"]


def test_a_group_where_nothing_is_to_be_done_is_left_running(fleet):
    add_group(fleet, {"service_unit__present": NO_RESTART}, {"service_unit__present": NO_RESTART})
    run = fleet.run()
    assert run.exit_code == 0
    assert {record["action"] for record in run.records.values()} == {"skipped"}


def test_a_start_is_tried_again_by_the_whole_group(fleet):
    add_group(fleet, {}, {"mtp_verify": DIED})
    run = fleet.run(mtp_start_attempts=2)
    assert run.exit_code == 2
    assert [run.records[host]["starts"] for host in ("gpu01", "gpu02")] == [2, 2]
    # Two starts, and one of the old server.
    assert [run.calls[host].count("service_restart") for host in ("gpu01", "gpu02")] == [3, 3]


def test_one_host_without_hope_keeps_its_group_from_another_start(fleet):
    add_group(fleet, {"mtp_verify": REFUTED}, {"mtp_verify": DIED})
    run = fleet.run(mtp_start_attempts=2)
    assert [run.records[host]["starts"] for host in ("gpu01", "gpu02")] == [1, 1]


def test_a_rollback_restarts_no_host_of_a_group_whose_requests_do_not_end(fleet):
    undrained = {"failed": True, "msg": "2 requests still run."}
    add_group(fleet, {"router_worker__drained": undrained}, {})
    run = fleet.run("rollback_mtp", mtp_router_urls=["http://router:30100"])
    assert run.exit_code == 2
    assert not [host for host, calls in run.calls.items() if "service_restart" in calls]


def test_a_limit_that_cuts_a_group_is_refused_before_any_host_is_touched(fleet):
    add_group(fleet, {}, {})
    run = fleet.run("deploy_mtp", "--limit", "gpu01")
    assert run.exit_code == 2
    assert "gpu02 of mtp_group a is not part of this run" in run.output
    assert not any(run.calls.values())


def test_a_part_of_a_group_can_be_audited(fleet):
    add_group(fleet, {}, {})
    run = fleet.run("verify_mtp", "--limit", "gpu02")
    assert run.exit_code == 0


def test_the_same_rank_twice_is_found_before_anything_is_changed(fleet):
    for name in ("gpu01", "gpu02"):
        fleet.add(name, variables={"mtp_group": "a", "mtp_dist_init_addr": "10.0.0.1:20000"})
    run = fleet.run()
    assert run.exit_code == 2
    assert "gpu01: 0, gpu02: 0" in run.records["gpu01"]["reason"]
    assert run.acted_on() == []
