# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A drop-in and a file that it names are changed together with the unit, and go back with it."""

from __future__ import annotations

import json
import os

import pytest
from testinfra.utils.ansible_runner import AnsibleRunner

testinfra_hosts = AnsibleRunner(os.environ["MOLECULE_INVENTORY_FILE"]).get_hosts("sglang")
UNIT = "/etc/systemd/system/sglang.service"
STATE = "/var/lib/llmops-sglang"
ENVIRONMENT = "/etc/sglang/environment"
DROP_IN = UNIT + ".d/environment.conf"
ADDED = UNIT + ".d/limits.conf"


@pytest.fixture
def forget_parts(host):
    """The test's end removes what it leaves of parts, and the way back to them."""
    yield
    host.check_output("rm --recursive --force %s %s.d && systemctl daemon-reload", STATE, UNIT)


def test_a_file_that_kills_every_server_is_taken_back_with_the_unit(
    host, deploy, old_unit, forget_parts, put_file, restart_server, tmp_path
):
    put_file(DROP_IN, "[Service]\nEnvironmentFile=%s\n" % ENVIRONMENT, "644")
    put_file(ENVIRONMENT, "LAUNCH=old\n")
    restart_server()
    new = {ENVIRONMENT: "LAUNCH=new\nSTANDIN_FAULT=oom\n", ADDED: "[Service]\nLimitNOFILE=4096\n"}
    changes = [{"ansible.builtin.copy": {"dest": path, "content": text, "mode": "0600"}} for path, text in new.items()]
    (tmp_path / "change.yml").write_text(json.dumps(changes), encoding="utf-8")

    # The hook runs when the unit is written and the old server still serves.
    record = deploy(mtp_pre_drain_tasks=str(tmp_path / "change.yml")).record_of(host)
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert "The last known good server is back and ready." in record["reason"]
    assert host.file(ENVIRONMENT).content_string == "LAUNCH=old\n"
    assert not host.file(ADDED).exists
    pid = host.check_output("systemctl show --property=MainPID --value sglang.service")
    assert "LAUNCH=old" in host.file("/proc/%s/environ" % pid).content_string.split("\0")
    taken = host.check_output("tar --extract --to-stdout --file %s/sglang.service/replaced.tar", STATE)
    assert "LAUNCH=new" in taken
    assert "LimitNOFILE=4096" in taken
    assert host.check_output("find %s/sglang.service -type f -perm /077", STATE) == ""
