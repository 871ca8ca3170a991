"""A node that reboots in the middle of a load: nothing after it is touched, and the next run finishes the job."""

from __future__ import annotations

import subprocess

from served_fleet import wait_until

LOADS_LONG = {"gpu02": {"mtp_environment": {"STANDIN_LOAD_SECONDS": "10"}}}
# A run that does not notice the reboot is a failure.
LIMIT_SECONDS = 180


def test_the_next_run_finishes_what_a_reboot_interrupted(fleet, run, command, tmp_path):
    rebooted = fleet.nodes["gpu02"]
    with open(tmp_path / "interrupted.log", "w+", encoding="utf-8") as log:
        interrupted = subprocess.Popen(command(LOADS_LONG), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(lambda: interrupted.poll() is not None or rebooted.speculates, "new server on gpu02")
            fleet.reboot("gpu02")
            exit_code = interrupted.wait(LIMIT_SECONDS)
        finally:
            interrupted.kill()
        log.seek(0)
        assert exit_code == 2, log.read()
    assert set(fleet.speculating()) - {"gpu02"} == {"gpu01", "gpu03"}

    done = run(hosts=LOADS_LONG)
    assert done.exit_code == 0, done.output
    assert {record["verdict"] for record in done.records.values()} == {"proven"}
    assert fleet.speculating() == list(fleet.nodes)
    assert done.records["gpu01"]["action"] == "skipped"
