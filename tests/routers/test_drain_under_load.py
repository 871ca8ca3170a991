# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollout over three servers behind each router, with clients sending all the while: with drain, and without.

The client's key is the server's and the router's, so that it opens both for every router. Without drain a server is
stopped as systemd does it: SIGTERM, then SIGKILL after the unit's TimeoutStopSec, here two seconds. SGLang finishes its
requests after SIGTERM, but goes on taking the new ones that a router sends, so under traffic it never ends by itself.
"""

from __future__ import annotations

import time

import pytest
from router_lab.module import run_module
from router_lab.releases import RELEASES, install
from router_lab.router import RealRouter
from router_lab.server import Server
from router_lab.traffic import RATE, Traffic

KEY = "one-key-for-all-4711"
STOP_SECONDS = 2
SECONDS_OF_TRAFFIC_AROUND = 1.5
HEAD = "router               rollout        seconds  requests  failed  broken streams  longest answer"
ROW = "{:<20} {:<14} {:>7.1f}  {:>8}  {:>6}  {:>14}  {:>12.2f} s"


@pytest.fixture
def servers(folder):
    started = [Server(folder, f"load{number}", KEY).start() for number in (1, 2, 3)]
    yield started
    for server in started:
        server.stop()


@pytest.fixture(params=RELEASES, ids=lambda release: release.name)
def router(request, folder, servers):
    install(request.param)
    router = RealRouter(request.param, folder, KEY, "load").start(servers)
    yield router
    router.kill()


def test_a_rollout_with_drain_fails_no_request_and_breaks_no_stream(router, servers, folder, table):
    served = {}

    def restart(server):
        restart_drained(router, server, folder)
        served[server.url] = server.served

    report, seconds = measure(router, servers, restart)
    note(table, router, "with drain", report, seconds)
    assert report.sent > 3 * RATE
    assert all(server.served > served[server.url] for server in servers), "one got no request after its return"
    assert [outcome.trouble for outcome in report.failed + report.broken_streams] == []


def test_the_same_without_drain_breaks_streams(router, servers, table):
    """It also shows that the clients above would have noticed."""
    report, seconds = measure(router, servers, restart_at_once)
    note(table, router, "without drain", report, seconds)
    assert report.broken_streams


def measure(router, servers, restart):
    """Restart the servers one by one under traffic; ``(report, seconds)``."""
    start = time.monotonic()
    with Traffic(router.port, KEY) as traffic:
        time.sleep(SECONDS_OF_TRAFFIC_AROUND)
        for server in servers:
            assert server.served, "it got no request before its restart"
            restart(server)
        time.sleep(SECONDS_OF_TRAFFIC_AROUND)
    return traffic.report(), time.monotonic() - start


def restart_drained(router, server, folder):
    record = str(folder / f"record-{server.port}.json")
    arguments = {
        "router_urls": [router.url],
        "api_key": router.key or None,
        "worker_url": server.url,
        "worker_api_key": KEY,
        "record_file": record,
        "timeout": 60,
    }
    drained = run_module(state="drained", drain_timeout=60, **arguments)
    assert drained.get("changed") and drained["drain"]["idle"], drained
    served = server.served
    server.stop()
    assert server.served == served, "the router sent it a request after it was drained"
    server.start()
    admitted = run_module(state="present", **arguments)
    assert admitted.get("changed"), admitted


def restart_at_once(server):
    server.stop(grace=STOP_SECONDS)
    server.start()


def note(table, router, rollout, report, seconds):
    if not table:
        table.append(HEAD)
    row = (router.release.name, rollout, seconds, report.sent, len(report.failed), len(report.broken_streams))
    table.append(ROW.format(*row, report.longest))
