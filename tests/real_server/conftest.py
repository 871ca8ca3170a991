# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One node with the real server for the whole session; before each rollout it runs the old server."""

from __future__ import annotations

import time

import node_access
import pytest
import rollout
import yaml
from rig import node
from rig.node import INVENTORIES, NAME

OUTCOMES = pytest.StashKey[list]()


def pytest_configure(config):
    config.stash[OUTCOMES] = []


@pytest.fixture(scope="session")
def running_node():
    node.up()


@pytest.fixture(scope="session")
def ledger(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger")


@pytest.fixture(scope="session")
def inventory_variables():
    return yaml.safe_load(INVENTORIES[1].read_text(encoding="utf-8"))["sglang"]["vars"]


@pytest.fixture
def old_server(running_node):
    node_access.bring_back()


@pytest.fixture
def run_playbook(running_node, ledger, request):
    """Runs a playbook; the run's ``record`` is what the ledger says of the node."""

    def run(name, **variables):
        begin = time.monotonic()
        done = rollout.run_playbook(name, INVENTORIES[0], ledger, "-i", str(INVENTORIES[1]), **variables)
        assert NAME in done.records, done.output
        record = done.records[NAME]
        outcome = (request.node.name, record["verdict"], record["action"], time.monotonic() - begin, record["reason"])
        request.config.stash[OUTCOMES].append(outcome)
        return done

    return run


@pytest.fixture
def deploy(run_playbook):
    def deploy(**variables):
        return run_playbook("deploy_mtp", **variables)

    return deploy


def pytest_terminal_summary(terminalreporter, config):
    if not config.stash[OUTCOMES]:
        return
    terminalreporter.section("rollouts to the real server")
    for name, verdict, action, seconds, reason in config.stash[OUTCOMES]:
        terminalreporter.write_line(f"{name}: {verdict.upper()}, {action}, {seconds:.0f} s")
        terminalreporter.write_line(f"    {reason}")
