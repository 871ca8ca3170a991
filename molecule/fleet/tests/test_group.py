"""Two nodes that serve one model together: proven together, and taken back together."""

from __future__ import annotations

# The two are neighbours when only they take part.
LEADER, FOLLOWER = "gpu04", "gpu06"
MEETING_PORT = 20000


def test_a_group_is_started_proven_and_taken_back_as_one(fleet, run):
    before = fleet.invocations()
    done = run(hosts=group(fleet), **alone())
    assert done.exit_code == 0, done.output
    assert fleet.speculating() == [LEADER, FOLLOWER]
    leader, follower = done.records[LEADER], done.records[FOLLOWER]
    assert (leader["batch"], follower["batch"]) == (1, 1)
    assert leader["accept_length"] > 1.3
    assert follower["accept_length"] is None
    # Four ranks in all, two on each node.
    assert [draft_model(record)["expected"]["ranks"] for record in (leader, follower)] == [2, 2]
    assert [draft_model(record)["status"] for record in (leader, follower)] == ["met", "met"]

    again = run(hosts=group(fleet), **alone())
    assert {record["action"] for record in again.records.values()} == {"skipped"}, again.output

    back = run("rollback_mtp", hosts=group(fleet), **alone())
    assert back.exit_code == 0, back.output
    assert fleet.speculating() == []
    after = fleet.invocations()
    assert [name for name in before if after[name] != before[name]] == [LEADER, FOLLOWER]
    assert all(fleet.of_each(lambda node: node.ready).values())


def test_a_group_goes_back_to_what_was_proven_when_its_follower_loads_no_draft(fleet, run):
    assert run(hosts=group(fleet), **alone()).exit_code == 0
    proven = fleet.of_each(lambda node: node.unit, (LEADER, FOLLOWER))
    hosts = group(fleet)
    hosts[FOLLOWER]["mtp_environment"] = {"STANDIN_FAULT": "draft-not-loaded"}
    done = run(hosts=hosts, **alone())
    assert done.exit_code == 2
    leader, follower = done.records[LEADER], done.records[FOLLOWER]
    assert (follower["verdict"], follower["action"]) == ("refuted", "rolled_back")
    assert draft_model(follower)["status"] == "unmet"
    # Nothing is wrong with the leader itself, and its own variables are what they were.
    assert (leader["verdict"], leader["action"]) == ("inconclusive", "rolled_back")
    assert FOLLOWER in leader["reason"]
    assert fleet.of_each(lambda node: node.unit, (LEADER, FOLLOWER)) == proven
    assert fleet.speculating() == [LEADER, FOLLOWER]
    assert fleet.nodes[LEADER].ready


def group(fleet):
    """Host variables of a group of two; each had a server of its own before."""
    address = "%s:%d" % (fleet.nodes[LEADER].address, MEETING_PORT)
    shared = {"mtp_group": "pair", "mtp_group_size": 2, "mtp_dist_init_addr": address}
    return {host: dict(shared, mtp_node_rank=rank) for rank, host in enumerate((LEADER, FOLLOWER))}


def alone():
    """Only the group takes part, and no router: it knows the follower's own server of before."""
    return {"mtp_hosts": "%s:%s" % (LEADER, FOLLOWER), "mtp_router_urls": []}


def draft_model(record):
    return next(condition for condition in record["conditions"] if condition["name"] == "draft_model")
