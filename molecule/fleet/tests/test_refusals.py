"""One host lacks proof: whoever comes after it is not touched, and the report and the exit code say so."""

from __future__ import annotations

FLAGS_IGNORED = {"mtp_environment": {"STANDIN_FAULT": "flags-ignored"}}
# Nothing listens there: a refused connection, at once.
UNREACHABLE = {"ansible_port": 9, "ansible_control_path": "none"}


def test_a_refused_canary_is_the_only_host_that_was_touched(fleet, run):
    before = fleet.invocations()
    done = run(hosts={"gpu01": FLAGS_IGNORED})
    after = fleet.invocations()
    assert done.exit_code == 2
    assert [name for name in before if after[name] != before[name]] == ["gpu01"]
    assert fleet.on_old_unit() == list(fleet.nodes)
    assert fleet.speculating() == []
    assert fleet.nodes["gpu01"].ready

    canary, *rest = [done.records[name] for name in sorted(fleet.nodes)]
    assert (canary["verdict"], canary["action"]) == ("refuted", "rolled_back")
    assert {(record["verdict"], record["action"]) for record in rest} == {("inconclusive", "untouched")}
    assert all("gpu01 is refuted" in record["reason"] for record in rest)
    assert "0 of 6 hosts proven, 1 refuted, 5 inconclusive" in done.output


def test_a_refused_host_of_the_second_batch_stops_the_third_and_spares_its_mate(fleet, run):
    before = fleet.invocations()
    done = run(hosts={"gpu02": FLAGS_IGNORED})
    after = fleet.invocations()
    assert done.exit_code == 2
    assert fleet.speculating() == ["gpu01", "gpu03"]
    assert [name for name in before if after[name] == before[name]] == ["gpu04", "gpu05", "gpu06"]
    assert outcomes(done) == {
        "gpu01": ("proven", "deployed"),
        "gpu02": ("refuted", "rolled_back"),
        "gpu03": ("proven", "deployed"),
        "gpu04": ("inconclusive", "untouched"),
        "gpu05": ("inconclusive", "untouched"),
        "gpu06": ("inconclusive", "untouched"),
    }
    assert "2 of 6 hosts proven, 1 refuted, 3 inconclusive" in done.output


def test_an_unreachable_host_stops_the_batches_after_it(fleet, run):
    done = run(hosts={"gpu03": UNREACHABLE})
    assert done.exit_code == 2
    assert fleet.speculating() == ["gpu01", "gpu02"]
    assert outcomes(done)["gpu02"] == ("proven", "deployed")
    assert {outcomes(done)[name] for name in ("gpu03", "gpu04", "gpu05", "gpu06")} == {("inconclusive", "untouched")}
    assert "can't be reached" in done.records["gpu03"]["reason"]
    assert "gpu03 is inconclusive" in done.records["gpu04"]["reason"]


def outcomes(done):
    return {name: (record["verdict"], record["action"]) for name, record in done.records.items()}
