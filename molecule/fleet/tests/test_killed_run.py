"""``kill -9`` in the middle of a load: the next run takes the lock over and finishes what was half done."""

from __future__ import annotations

import json
import signal
import subprocess

from served_fleet import wait_until

LOADS_LONG = {"gpu02": {"mtp_environment": {"STANDIN_LOAD_SECONDS": "10"}}}


def test_the_next_run_finishes_what_a_killed_one_left(fleet, run, command, tmp_path):
    halfway = fleet.nodes["gpu02"]
    with open(tmp_path / "killed.log", "wb") as log:
        killed = subprocess.Popen(command(LOADS_LONG), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: killed.poll() is not None or halfway.speculates, "new server on gpu02")
        assert not halfway.ready
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    left = json.loads((tmp_path / "lock.json").read_text())
    loading, proven = halfway.invocation, fleet.nodes["gpu01"].invocation
    assert left["pid"] == killed.pid

    done = run(hosts=LOADS_LONG)
    assert done.exit_code == 0, done.output
    assert {record["verdict"] for record in done.records.values()} == {"proven"}
    assert fleet.speculating() == list(fleet.nodes)
    assert not (tmp_path / "lock.json").exists()
    # Neither the proven server nor the one that was loading was started once more.
    assert (done.records["gpu01"]["action"], done.records["gpu01"]["invocation_id"]) == ("skipped", proven)
    assert (done.records["gpu02"]["action"], done.records["gpu02"]["invocation_id"]) == ("deployed", loading)
