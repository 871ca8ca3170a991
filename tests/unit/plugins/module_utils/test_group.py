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
    names = group.names_by_host(group.all_groups(list(FLEET), FLEET))
    assert names == {"gpu01": "a", "gpu02": "a", "gpu04": "b"}


def test_a_host_without_a_group_has_no_mistake_and_no_hindrance():
    assert group.mistake("", {}, "") == ""
    assert group.hindrance("drained", {}, FLEET) == ""
    assert not group.restart_wanted({}, FLEET, "mtp__unit")
    assert group.all_may_start_again({}, FLEET)


@pytest.mark.parametrize("members", [{"x": 0, "y": 0}, {"x": 1, "y": 2}, {"x": 1}, {"x": 0, "y": -1}])
def test_ranks_have_to_count_from_0(members):
    assert "to %d." % (len(members) - 1) in group.mistake("a", members, "10.0.0.1:20000")


def test_the_hosts_have_to_know_where_to_meet():
    for nowhere in ("", None, "10.0.0.1", "10.0.0.1:", "fd00::1", "tcp://10.0.0.1:1"):
        assert "give HOST:PORT" in group.mistake("a", {"x": 0, "y": 1}, nowhere)
    for address in ("10.0.0.1:20000", "gpu01.example:20000", "[fd00::1]:20000"):
        assert group.mistake("a", {"x": 0, "y": 1}, address) == ""


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
    found = group.incomplete(hosts, group.all_groups(hosts, FLEET))
    assert said in found
    assert bool(found) == bool(said)


def kept(unproven, generation, last_known_good):
    return {"unproven": unproven, "generation": generation, "last_known_good_generation": last_known_good}


@pytest.mark.parametrize(
    ("first", "second", "leaving"),
    [
        # Refused as a whole, and a rollback of what was proven.
        (kept(True, "3", "2"), kept(True, "3", "2"), ["a", "b"]),
        (kept(False, "3", "2"), kept(False, "3", "2"), ["a", "b"]),
        (kept(True, "1", ""), kept(True, "1", ""), ["a", "b"]),
        # Killed between the two writes: the second is still where the first has to go.
        (kept(True, "3", "2"), kept(False, "2", "1"), ["a"]),
        (kept(True, "1", ""), kept(False, "", ""), ["a"]),
        # Killed between the two notes of proof.
        (kept(False, "3", "2"), kept(True, "3", "2"), ["a", "b"]),
        # Only a file beside the unit of the second was changed.
        (kept(False, "3", "2"), kept(True, "3", "3"), ["b"]),
    ],
)
def test_a_group_comes_back_to_one_generation(first, second, leaving):
    assert group.going_back({"a": first, "b": second}) == leaving


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (kept(True, "4", "3"), kept(True, "4", "2")),
        (kept(False, "3", "2"), kept(False, "3", "1")),
        (kept(True, "4", "3"), kept(False, "2", "1")),
    ],
)
def test_a_group_without_a_generation_in_common_says_so(first, second):
    with pytest.raises(group.NoWayBack, match="not of one generation"):
        group.going_back({"a": first, "b": second})


def test_a_generation_changes_with_what_any_host_would_start():
    launches = {"a": {"mtp__own_launch": "x"}, "b": {"mtp__own_launch": "y"}}
    other = {"a": {"mtp__own_launch": "x"}, "b": {"mtp__own_launch": "z"}}
    members = {"a": 0, "b": 1}
    assert len(group.generation(members, launches)) == 16
    assert group.generation(members, launches) != group.generation(members, other)
    assert group.generation({}, launches) == ""
