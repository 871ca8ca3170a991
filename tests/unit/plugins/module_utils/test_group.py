from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import group

FLEET = {
    "gpu01": {"mtp_group": "a", "mtp_node_rank": 0},
    "gpu02": {"mtp_group": "a", "mtp_node_rank": "1"},
    "gpu03": {},
    "gpu04": {"mtp_group": "b"},
}


def with_reached(**reached):
    return {host: dict(FLEET[host], mtp__reached=stage) for host, stage in reached.items()}


def test_a_group_has_its_hosts_and_their_ranks():
    assert group.members_of("a", FLEET) == {"gpu01": 0, "gpu02": 1}
    assert group.members_of("", FLEET) == {}
    assert group.groups_of(FLEET, FLEET) == {"gpu01": "a", "gpu02": "a", "gpu04": "b"}


def test_a_host_without_a_group_has_no_mistake_and_no_hindrance():
    assert group.mistake("", {}, "") == ""
    assert group.hindrance("drained", {}, FLEET) == ""
    assert not group.restart_wanted({}, FLEET, "mtp__unit")
    assert group.all_may_start_again({}, FLEET)


@pytest.mark.parametrize("members", [{"x": 0, "y": 0}, {"x": 1, "y": 2}, {"x": 1}, {"x": 0, "y": -1}])
def test_ranks_have_to_count_from_0(members):
    assert "to %d." % (len(members) - 1) in group.mistake("a", members, "10.0.0.1:20000")


def test_the_hosts_have_to_know_where_to_meet():
    assert "mtp_dist_init_addr is empty" in group.mistake("a", {"x": 0, "y": 1}, "")
    assert group.mistake("a", {"x": 0, "y": 1}, "10.0.0.1:20000") == ""


def test_a_group_that_was_cut_is_told_by_its_size():
    cut = group.mistake("a", {"x": 0}, "10.0.0.1:20000", size=2)
    assert "has 1 hosts in this inventory (x), and mtp_group_size is 2" in cut
    assert group.mistake("a", {"x": 0, "y": 1}, "10.0.0.1:20000", size=2) == ""


def test_all_groups_of_a_run_are_found_with_all_their_hosts():
    assert group.all_groups(["gpu02", "gpu03"], FLEET) == {"a": {"gpu01": 0, "gpu02": 1}}
    assert group.all_groups(["gpu03"], FLEET) == {}


def test_a_rank_that_is_no_number_is_a_mistake():
    members = group.members_of("a", {"x": {"mtp_group": "a", "mtp_node_rank": "first"}})
    assert "mtp_node_ranks x: -1" in group.mistake("a", members, "10.0.0.1:20000")


def test_a_host_waits_for_those_that_did_not_come_so_far():
    members = {"gpu01": 0, "gpu02": 1}
    assert group.behind("drained", members, with_reached(gpu01="drained", gpu02="unit written")) == ["gpu02"]
    assert group.hindrance("drained", members, with_reached(gpu01="drained", gpu02="drained")) == ""
    assert "gpu02" in group.hindrance("drained", members, with_reached(gpu01="drained", gpu02=""))


def test_on_the_way_back_only_those_count_that_went_on_it():
    members = {"gpu01": 0, "gpu02": 1}
    stage = "out of the routers"
    assert group.behind(stage, members, with_reached(gpu01=stage, gpu02="looked at")) == []
    assert group.behind(stage, members, with_reached(gpu01=stage, gpu02="going back")) == ["gpu02"]


def test_one_server_that_has_to_be_restarted_takes_its_group_with_it():
    members = {"gpu01": 0, "gpu02": 1}
    wanted = {"gpu01": {"unit": {"restart_needed": False}}, "gpu02": {"unit": {"restart_needed": True}}}
    assert group.restart_wanted(members, wanted, "unit")
    assert not group.restart_wanted({"gpu01": 0}, wanted, "unit")
    assert not group.restart_wanted(members, FLEET, "unit")


def test_one_host_speaks_against_another_start_for_all():
    members = {"gpu01": 0, "gpu02": 1}
    assert group.all_may_start_again(members, {host: {"mtp__may_start_again": True} for host in members})
    assert not group.all_may_start_again(members, {"gpu01": {"mtp__may_start_again": True}, "gpu02": {}})


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (["gpu01", "gpu02", "gpu03", "gpu04"], ""),
        (["gpu03"], ""),
        (["gpu03", "gpu02"], "gpu01 of mtp_group a is not part of this run"),
        (["gpu01", "gpu03", "gpu02"], "do not follow one another"),
        (["gpu02", "gpu01"], ""),
    ],
)
def test_a_run_holds_whole_groups_next_to_each_other(hosts, said):
    assert said in group.incomplete(hosts, FLEET)
    assert bool(group.incomplete(hosts, FLEET)) == bool(said)
