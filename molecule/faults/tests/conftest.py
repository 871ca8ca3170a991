# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A deployment on this scenario's node, and the old server that is there before and after."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "shared"))

from rollout import run_playbook

UNIT = "/etc/systemd/system/sglang.service"
HEALTH = "http://127.0.0.1:30000/health"


@pytest.fixture
def deploy(tmp_path):
    def run(*options, **variables):
        variables.setdefault("mtp_ready_timeout", 15)
        variables.setdefault("mtp_start_timeout", 60)
        variables.setdefault("mtp_soak_seconds", 5)
        variables.setdefault("mtp_prove_deadline", 10)
        return run_playbook("deploy_mtp", os.environ["MOLECULE_INVENTORY_FILE"], tmp_path, *options, **variables)

    return run


@pytest.fixture
def old_unit(host):
    """The unit that runs before the deployment; it has to be in force again afterwards."""
    before = host.file(UNIT).content_string
    assert "speculative" not in before
    yield before
    assert host.file(UNIT).content_string == before
    assert host.check_output("systemctl is-active sglang.service") == "active"
    assert host.check_output("curl --silent --output /dev/null --write-out '%%{http_code}' %s", HEALTH) == "200"
    pid = host.check_output("systemctl show --property=MainPID --value sglang.service")
    assert "speculative" not in host.file("/proc/%s/cmdline" % pid).content_string


@pytest.fixture
def old_server(host):
    """The server that runs before a deployment that is meant to change it; the test's end puts it back."""
    before = host.file(UNIT).content_string
    assert "speculative" not in before
    yield
    put(host, UNIT, before)
    host.check_output("rm --recursive --force /var/lib/llmops-sglang %s.d", UNIT)
    restart_by_hand(host)


@pytest.fixture
def restart_server(host):
    """A function that starts the server anew by hand, and waits until it is ready."""
    return lambda: restart_by_hand(host)


def restart_by_hand(host):
    host.check_output("systemctl daemon-reload && systemctl restart sglang.service")
    host.check_output("timeout 30 sh -c 'until curl --silent --fail %s; do sleep 0.2; done'", HEALTH)


@pytest.fixture
def put_file(host):
    """A function that writes a text file on the node, readable for root only; the test's end removes it."""
    written = []

    def write(path, text, mode="600"):
        written.append(path)
        put(host, path, text, mode)
        return path

    yield write
    for path in written:
        host.check_output("rm --force %s", path)


def put(host, path, text, mode="644"):
    host.check_output("printf %%s %s | install -D --mode=%s /dev/stdin %s", text, mode, path)
