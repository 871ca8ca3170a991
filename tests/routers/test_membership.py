# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``router_worker`` against each router: what it changes and refuses, and that each step is followed to its end."""

from __future__ import annotations

import threading

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import drain
from router_lab.module import run_module
from router_lab.process import free_port
from router_lab.releases import RELEASES, install
from router_lab.router import RealRouter
from router_lab.server import Server
from router_lab.traffic import ask

ROUTER_KEY = "router-key-4711"
SERVER_KEY = "server-key-4711"
REST = [release for release in RELEASES if release.rest]
# smg passes the client's own key on, whatever key the worker was added with.
PUT_THEIR_KEY = [release for release in REST if release.distribution != "smg"]


@pytest.fixture(autouse=True)
def looks_at_the_server_more_often(monkeypatch):
    monkeypatch.setattr(drain, "PAUSE", 0.1)


@pytest.fixture(scope="module")
def servers(folder):
    """Two servers that want no key, and one that wants one."""
    started = [Server(folder, f"server{number}", key).start() for number, key in ((1, ""), (2, ""), (3, SERVER_KEY))]
    yield started
    for server in started:
        server.stop()


@pytest.fixture
def start(folder):
    """A function that starts a router; it is stopped after the test."""
    started = []

    def start(release, servers, options=(), name="router"):
        install(release)
        started.append(RealRouter(release, folder, ROUTER_KEY, name))
        return started[-1].start(servers, options)

    yield start
    for router in started:
        router.kill()


@pytest.fixture(params=RELEASES, ids=lambda release: release.name)
def router(request, start, servers):
    """A router with the two servers that want no key."""
    return start(request.param, servers[:2])


def run(router, server, **arguments):
    usual = {
        "router_urls": [router.url],
        "api_key": router.key or None,
        "worker_url": server.url,
        "worker_api_key": server.key or None,
        "timeout": 30,
    }
    return run_module(**{**usual, **arguments})


def test_out_and_in_again_and_each_twice(router, servers):
    drained = run(router, servers[0], state="drained")
    assert drained["changed"] and drained["drain"]["idle"]
    assert list(router.entries()) == [servers[1].url]
    assert not run(router, servers[0], state="drained")["changed"]
    assert run(router, servers[0])["changed"]
    assert set(router.entries()) == {servers[0].url, servers[1].url}
    assert not run(router, servers[0])["changed"]


def test_check_mode_changes_nothing(router, servers):
    for state, server, after in (("drained", servers[0], "absent"), ("present", servers[2], "present")):
        result = run(router, server, state=state, _ansible_check_mode=True, _ansible_diff=True)
        assert result["changed"]
        assert result["diff"]["after"][router.url]["state"] == after
    assert set(router.entries()) == {servers[0].url, servers[1].url}


def test_settings_and_key_come_back(router, servers):
    keyed = servers[2]
    assert run(router, keyed, settings={"priority": 77, "cost": 2.5, "labels": {"zone": "a"}})["changed"]
    drained = run(router, keyed, state="drained")
    assert run(router, keyed, records=drained["records"])["changed"]
    if router.release.rest:
        entry = router.entry_of(keyed)
        assert (entry["priority"], entry["cost"]) == (77, 2.5)
        assert (entry.get("labels") or entry["metadata"])["zone"] == "a"
        assert entry["model_id"] == "lab-model"
        assert run(router, keyed, state="absent")["records"] == drained["records"]


def test_a_server_that_wants_a_key_is_not_admitted_without_it(router, servers):
    result = run(router, servers[2], worker_api_key=None)
    assert result["failed"] and "worker_api_key" in result["msg"]
    assert set(router.entries()) == {servers[0].url, servers[1].url}


def test_the_last_healthy_worker_stays_unless_the_operator_says_so(router, servers):
    run(router, servers[0], state="absent")
    refused = run(router, servers[1], state="drained")
    assert refused["failed"] and "last healthy worker" in refused["msg"]
    assert list(router.entries()) == [servers[1].url]
    assert run(router, servers[1], state="drained", allow_last=True)["changed"]
    assert router.entries() == {}


def test_routers_of_two_generations_are_changed_together(start, servers):
    routers = [start(release, servers[:2], name=release.name) for release in (RELEASES[0], RELEASES[2])]
    urls = [router.url for router in routers]
    drained = run(routers[1], servers[0], state="drained", router_urls=urls)
    assert [place["api"] for place in drained["routers"]] == ["list_workers", "workers"]
    assert [list(router.entries()) for router in routers] == [[servers[1].url]] * 2
    assert run(routers[1], servers[0], router_urls=urls)["changed"]
    assert all(set(router.entries()) == {servers[0].url, servers[1].url} for router in routers)


def test_nothing_is_changed_while_one_of_the_routers_is_down(router, servers):
    down = f"http://127.0.0.1:{free_port()}"
    result = run(router, servers[0], state="drained", router_urls=[router.url, down])
    assert result["failed"] and not result["changed"]
    assert down in result["msg"]
    assert set(router.entries()) == {servers[0].url, servers[1].url}


def test_a_dead_server_is_not_admitted(router):
    class Dead:
        url = f"http://127.0.0.1:{free_port()}"
        key = ""

    result = run(router, Dead, timeout=2)
    assert result["failed"] and "No router was asked" in result["msg"]
    assert Dead.url not in router.entries()


def test_a_server_that_stays_busy_is_given_back_and_its_request_is_answered(router, servers):
    outcome = []
    client = threading.Thread(target=lambda: outcome.append(ask(servers[0].port, "", 1)))
    client.start()
    result = run(router, servers[0], state="drained", drain_timeout=0.1)
    client.join(30)
    assert result["failed"] and "given back" in result["msg"]
    assert set(router.entries()) == {servers[0].url, servers[1].url}
    assert [seen.trouble for seen in outcome] == [""]


@pytest.mark.parametrize("release", REST, ids=lambda release: release.name)
def test_a_wrong_admin_key_is_said_and_not_shown(release, start, servers):
    router = start(release, servers[:2])
    result = run(router, servers[0], state="drained", api_key="not-the-key-0815")
    assert result["failed"] and "answers 401" in result["msg"]
    assert set(router.entries()) == {servers[0].url, servers[1].url}


@pytest.mark.parametrize("release", PUT_THEIR_KEY, ids=lambda release: release.name)
def test_requests_reach_a_server_with_the_key_that_the_router_was_given(release, start, servers):
    router = start(release, [])
    assert run(router, servers[2])["changed"]
    assert ask(router.port, ROUTER_KEY, 0).trouble == ""


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_a_server_that_the_router_lists_by_ranks_is_one_worker(release, start, folder):
    servers = [Server(folder, f"ranks{number}", flags=["--dp-size", "2"]).start() for number in (1, 2)]
    try:
        router = start(release, servers, ["--dp-aware"], "ranks")
        ranks = {f"{server.url}@{rank}" for server in servers for rank in (0, 1)}
        assert set(router.entries()) == ranks
        drained = run(router, servers[0], state="drained")
        assert drained["changed"]
        assert set(router.entries()) == {f"{servers[1].url}@{rank}" for rank in (0, 1)}
        assert run(router, servers[0], records=drained["records"])["changed"]
        assert set(router.entries()) == ranks
    finally:
        for server in servers:
            server.stop()


def test_a_worker_that_the_router_is_still_draining_ends_up_inside(start, servers):
    """A second addition to smg within its five seconds is refused, and the worker is gone a moment later."""
    release = next(release for release in RELEASES if release.queues)
    router = start(release, servers[:2])
    worker = router.entry_of(servers[0])
    assert router.ask("DELETE", f"/workers/{worker['id']}", router.key)[0] == 202
    assert router.entry_of(servers[0])["status"] == "draining"
    result = run(router, servers[0])
    assert result["routers"][0]["before"] == "draining"
    assert router.entry_of(servers[0])["status"] == "ready"
    assert router.entry_of(servers[0])["id"] != worker["id"]
