# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the old server leaves behind is named before the new one starts beside it."""

from __future__ import annotations

import os
import re

import pytest
from testinfra.utils.ansible_runner import AnsibleRunner

testinfra_hosts = AnsibleRunner(os.environ["MOLECULE_INVENTORY_FILE"]).get_hosts("sglang")
# Anchored, since what looks for the server carries its name too.
SERVER = "^/opt/sglang/venv/bin/python -m sglang.launch_server"
UNIT = "/etc/systemd/system/sglang.service"


@pytest.fixture
def server_outlives_its_unit(host, old_server, put_file):
    """The old unit as a wrapper that is the only process a stop ends. Gives the PID of the server behind it."""
    unit = host.file(UNIT).content_string
    command = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", unit, re.MULTILINE).group(1)
    put_file(UNIT, unit.replace(command, "/bin/sh -c '%s & wait'" % command), "644")
    put_file(UNIT + ".d/outlive.conf", "[Service]\nKillMode=process\n", "644")
    host.check_output("systemctl daemon-reload && systemctl restart sglang.service")
    host.check_output("timeout 30 sh -c 'until curl --silent --fail http://127.0.0.1:30000/health; do sleep 0.2; done'")
    yield host.check_output("pgrep --full %s", SERVER)
    host.run("pkill --signal KILL --full %s", SERVER)


def test_an_orphan_on_the_port_is_named_and_no_server_is_started_beside_it(host, deploy, server_outlives_its_unit):
    run = deploy(mtp_release_timeout=1)
    record = run.record_of(host)
    assert run.exit_code == 2
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert "Port 30000 is held by process %s" % server_outlives_its_unit in record["reason"]
    assert "left over from sglang.service" in record["reason"]
    assert "THE LAST KNOWN GOOD SERVER IS NOT BACK: Port 30000 is held by" in record["reason"]
    assert host.run("systemctl is-active sglang.service").stdout.strip() == "inactive"

    host.check_output("kill -9 %s", server_outlives_its_unit)
    healed = deploy()
    assert (healed.exit_code, healed.record_of(host)["verdict"]) == (0, "proven")


def test_gpu_memory_that_the_old_server_still_holds_is_named(host, deploy, old_unit, put_file):
    pid = host.check_output("systemctl show --property=MainPID --value sglang.service")
    put_file("/usr/local/bin/nvidia-smi", "#!/bin/sh\necho %s\n" % pid, "755")
    record = deploy(mtp_release_timeout=1).record_of(host)
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert "GPU memory is held by process %s" % pid in record["reason"]
    assert "left over from sglang.service" in record["reason"]
