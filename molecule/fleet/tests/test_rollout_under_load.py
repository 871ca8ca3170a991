"""A whole rollout, and the way back, while clients send twenty requests a second through the router."""

from __future__ import annotations

from router_lab.traffic import RATE, Traffic


def test_no_client_notices_that_the_fleet_is_turned_over(fleet, run, router):
    old = fleet.invocations()
    with Traffic(router.port, key="") as traffic:
        deployed = run("deploy_mtp")
        speculating = fleet.speculating()
        taken_back = run("rollback_mtp")
    assert (deployed.exit_code, taken_back.exit_code) == (0, 0), deployed.output + taken_back.output
    assert {record["verdict"] for record in deployed.records.values()} == {"proven"}
    assert [deployed.records[name]["batch"] for name in sorted(fleet.nodes)] == [1, 2, 2, 3, 3, 3]
    assert speculating == list(fleet.nodes)

    assert {record["action"] for record in taken_back.records.values()} == {"rolled_back"}
    assert fleet.speculating() == []
    assert fleet.on_old_unit() == list(fleet.nodes)
    assert not set(fleet.invocations().values()) & set(old.values())

    report = traffic.report()
    assert report.sent > 3 * RATE
    assert [outcome.trouble for outcome in report.failed + report.broken_streams] == []
