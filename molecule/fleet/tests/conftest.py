"""Six nodes behind one router, which all tests share. Each test finds them on the servers they had at first."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "shared"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tests" / "routers"))

from rollout import playbook_command, run_playbook
from router_lab.releases import RELEASES, install
from router_lab.router import RealRouter
from served_fleet import Fleet, wait_until

INVENTORY = pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"])
# What makes a rollout quick; nothing that is proven is left out.
QUICK = {
    "mtp_batches": [1, 2, "100%"],
    "mtp_soak_seconds": 2,
    "mtp_prove_requests": 3,
    "mtp_prove_max_tokens": 48,
    "mtp_start_attempts": 1,
}


@pytest.fixture(scope="session")
def whole_fleet():
    return Fleet(INVENTORY)


@pytest.fixture(scope="session")
def router(whole_fleet, tmp_path_factory):
    (release,) = [release for release in RELEASES if release.name == "sglang-router-0.3.2"]
    install(release)
    router = RealRouter(release, tmp_path_factory.mktemp("router"))
    # The nodes ask it over their network.
    router.start(whole_fleet.nodes.values(), ["--host", "0.0.0.0"])
    yield router
    router.kill()


@pytest.fixture
def fleet(whole_fleet, router):
    """The fleet at its start. Whatever happens to it, every server is in the router again afterwards."""
    whole_fleet.start_over()
    everybody = {node.url for node in whole_fleet.nodes.values()}
    wait_until(lambda: healthy(router) == everybody, "router that calls every server healthy")
    yield whole_fleet
    assert set(router.entries()) == everybody


@pytest.fixture
def variables(whole_fleet, router):
    return dict(QUICK, mtp_router_urls=["http://%s:%d" % (whole_fleet.own_address(), router.port)])


@pytest.fixture
def run(fleet, variables, tmp_path):
    """Run a playbook. ``hosts`` are variables of single hosts, which come from a second inventory."""

    def run(playbook="deploy_mtp", hosts=None, **others):
        single_hosts = second_inventory(tmp_path, hosts)
        return run_playbook(playbook, INVENTORY, tmp_path, *single_hosts, **dict(variables, **others))

    return run


@pytest.fixture
def command(fleet, variables, tmp_path):
    """The command of a deployment, for a test that runs it by itself."""

    def command(hosts=None):
        return playbook_command("deploy_mtp", INVENTORY, tmp_path, *second_inventory(tmp_path, hosts), **variables)

    return command


def second_inventory(folder, hosts):
    if not hosts:
        return []
    path = folder / "single-hosts.json"
    # In their group: a host that is named outside of it would come first, and be the canary.
    path.write_text(json.dumps({"sglang": {"hosts": hosts}}))
    return ["-i", str(path)]


def healthy(router):
    return {url for url, entry in router.entries().items() if entry["is_healthy"]}
