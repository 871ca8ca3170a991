# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import http.server
import json
import os
import socket
import stat
import threading

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llmops.sglang.plugins.module_utils import drain, router_change
from ansible_collections.llmops.sglang.plugins.modules import router_worker

ROUTER_KEY = "rk-0123456789"
SERVER_KEY = "wk-0123456789"
OTHER = "http://gpu02:30000"


class Endpoint:
    """A server on a port of its own that answers with :meth:`answer`, and remembers what it was asked."""

    key = ""

    def __init__(self):
        self.asked = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                content = json.loads(body) if body else None
                endpoint.asked.append((self.command, self.path, content))
                open_to_all = self.path == "/health" or not endpoint.key
                allowed = open_to_all or self.headers.get("Authorization") == f"Bearer {endpoint.key}"
                status, answer = endpoint.answer(self.command, self.path, content) if allowed else (401, {})
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_DELETE = do_GET

            def log_message(self, *_arguments):
                pass

        return Handler


class RouterDouble(Endpoint):
    """The API of sglang-router 0.3.x; it follows at once."""

    key = ROUTER_KEY

    def __init__(self, *urls):
        self.workers = {url: self.entry({"url": url}) for url in urls}
        super().__init__()

    @staticmethod
    def entry(content):
        given = {name: value for name, value in content.items() if name != "api_key"}
        found = {"id": content["url"], "model_id": "m", "is_healthy": True, "metadata": {"served_model_name": "m"}}
        return {**found, "priority": 50, **given}

    def answer(self, method, path, content):
        if method == "POST":
            self.workers[content["url"]] = self.entry(content)
            return 202, {"status": "accepted", "worker_id": content["url"]}
        if method == "DELETE":
            self.workers.pop(path.replace("/workers/", "").replace("%3A", ":").replace("%2F", "/"))
            return 202, {"status": "accepted"}
        return (200, {"workers": list(self.workers.values())}) if path == "/workers" else (404, {})

    @property
    def changes(self):
        return [request for request in self.asked if request[0] != "GET"]


class ServerDouble(Endpoint):
    """A ready server that works on ``requests`` requests until it was asked for them ``patience`` times."""

    key = SERVER_KEY

    def __init__(self, requests=0, patience=0):
        self.requests = requests
        self.patience = patience
        super().__init__()

    def answer(self, method, path, content):
        if path != "/v1/loads":
            return (200, {}) if path in ("/health", "/v1/models") else (404, {})
        self.patience -= 1
        running = self.requests if self.patience >= 0 else 0
        return 200, {"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0, "num_used_tokens": running}]}


@pytest.fixture
def started():
    """Closes what a test appends to it."""
    endpoints = []
    yield endpoints
    for endpoint in endpoints:
        endpoint.close()


@pytest.fixture
def server(started):
    started.append(ServerDouble())
    return started[-1]


@pytest.fixture
def router(started, server):
    started.append(RouterDouble(server.url, OTHER))
    return started[-1]


@pytest.fixture
def nobody():
    """The address of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the module with these arguments on top of the usual ones; its result. No key is ever printed."""
    monkeypatch.setattr(drain, "PAUSE", 0.01)
    monkeypatch.setattr(router_change, "SECONDS_FOR_A_READY_SERVER", 0.3)

    def run(router, server, **arguments):
        usual = {
            "router_urls": [router.url],
            "worker_url": server.url,
            "api_key": ROUTER_KEY,
            "worker_api_key": SERVER_KEY,
            "timeout": 5,
        }
        given = {name: value for name, value in {**usual, **arguments}.items() if value is not None}
        with patch_module_args(given), pytest.raises(SystemExit) as ended:
            router_worker.main()
        printed = capsys.readouterr()
        assert ROUTER_KEY not in printed.out + printed.err
        assert SERVER_KEY not in printed.out + printed.err
        result = json.loads(printed.out)
        assert bool(ended.value.code) == bool(result.get("failed"))
        return result

    return run


def test_drained_is_out_of_the_router_and_idle(run, started, router):
    busy = ServerDouble(requests=3, patience=4)
    started.append(busy)
    router.workers[busy.url] = router.entry({"url": busy.url, "priority": 80})
    result = run(router, busy, state="drained")
    assert result["changed"]
    assert list(router.workers) == [url for url in router.workers if url != busy.url]
    assert result["drain"]["idle"]
    assert len([request for request in busy.asked if request[1] == "/v1/loads"]) == 4 + drain.READS_IN_A_ROW
    assert result["records"] == {router.url: {"priority": 80}}
    assert result["routers"] == [{"url": router.url, "api": "workers", "before": "present"}]


def test_drained_again_changes_nothing_and_looks_at_the_server_all_the_same(run, router, server):
    run(router, server, state="drained")
    changes = len(router.changes)
    result = run(router, server, state="drained")
    assert not result["changed"]
    assert result["drain"]["idle"]
    assert len(router.changes) == changes


def test_absent_asks_nothing_of_the_server(run, router, server):
    result = run(router, server, state="absent", worker_api_key=None)
    assert result["changed"]
    assert result["drain"] is None
    assert list(router.workers) == [OTHER]
    assert server.asked == []


def test_a_record_file_brings_the_settings_back_with_the_key(run, router, server, tmp_path):
    record = tmp_path / "record.json"
    router.workers[server.url].update(priority=80, metadata={"served_model_name": "m", "zone": "b"})
    run(router, server, state="drained", record_file=str(record))
    assert stat.S_IMODE(os.stat(record).st_mode) == 0o600
    result = run(router, server, record_file=str(record))
    assert result["changed"]
    method, path, content = router.changes[-1]
    assert (method, path) == ("POST", "/workers")
    assert content == {"url": server.url, "priority": 80, "labels": {"zone": "b"}, "api_key": SERVER_KEY}


def test_a_second_drain_keeps_the_record_of_the_first(run, router, server, tmp_path):
    record = tmp_path / "record.json"
    run(router, server, state="drained", record_file=str(record))
    before = record.read_text()
    result = run(router, server, state="drained", record_file=str(record))
    assert record.read_text() == before
    assert result["records"] == {router.url: {"priority": 50}}


def test_records_of_an_earlier_task_are_used_and_settings_win_over_them(run, router, server):
    drained = run(router, server, state="drained")
    run(router, server, records=drained["records"], settings={"cost": 2.5, "priority": 7})
    assert router.changes[-1][2] == {"url": server.url, "priority": 7, "cost": 2.5, "api_key": SERVER_KEY}


def test_present_twice_changes_once(run, router, server):
    run(router, server, state="absent")
    assert run(router, server)["changed"]
    again = run(router, server)
    assert not again["changed"]
    assert again["reason"] == f"All routers send requests to {server.url} already."


def test_several_routers_are_one_and_one_that_is_named_twice_is_asked_once(run, started, router, server):
    started.append(RouterDouble(OTHER))
    routers = [router.url, started[-1].url, router.url + "/"]
    result = run(router, server, router_urls=routers)
    assert [place["before"] for place in result["routers"]] == ["present", "absent"]
    assert server.url in started[-1].workers
    assert router.changes == []


@pytest.mark.parametrize("state", ["present", "absent", "drained"])
def test_a_router_that_is_down_fails_before_anything_is_changed(run, router, server, nobody, state):
    if state == "present":
        router.workers.pop(server.url)
    result = run(router, server, state=state, router_urls=[router.url, nobody])
    assert result["failed"] and not result["changed"]
    assert nobody in result["msg"]
    assert router.changes == []


def test_a_server_that_is_not_ready_is_not_admitted(run, router, nobody):
    class Dead:
        url = nobody

    result = run(router, Dead)
    assert result["failed"] and not result["changed"]
    assert "No router was asked" in result["msg"]
    assert router.changes == []


@pytest.mark.parametrize("state", ["present", "drained"])
def test_a_server_whose_key_is_missing_is_left_as_it_is(run, router, server, state):
    if state == "present":
        router.workers.pop(server.url)
    result = run(router, server, state=state, worker_api_key=None)
    assert result["failed"]
    assert "give it as worker_api_key or worker_api_key_file" in result["msg"]
    assert router.changes == []


def test_keys_may_come_from_files(run, router, server, tmp_path):
    (tmp_path / "router").write_text(ROUTER_KEY + "\n")
    (tmp_path / "server").write_text(SERVER_KEY + "\n")
    result = run(
        router,
        server,
        state="drained",
        api_key=None,
        worker_api_key=None,
        api_key_file=str(tmp_path / "router"),
        worker_api_key_file=str(tmp_path / "server"),
    )
    assert result["changed"]


def test_the_last_healthy_worker_stays(run, router, server):
    router.workers[OTHER]["is_healthy"] = False
    result = run(router, server, state="drained")
    assert result["failed"]
    assert "last healthy worker" in result["msg"] and "allow_last" in result["msg"]
    assert router.changes == []


def test_the_last_healthy_worker_goes_when_the_operator_says_so(run, router, server):
    router.workers.pop(OTHER)
    assert run(router, server, state="drained", allow_last=True)["changed"]
    assert router.workers == {}


def test_a_server_that_is_busy_too_long_is_given_back(run, started, router):
    busy = ServerDouble(requests=2, patience=10**6)
    started.append(busy)
    router.workers[busy.url] = router.entry({"url": busy.url, "priority": 80})
    result = run(router, busy, state="drained", drain_timeout=0.05)
    assert result["failed"] and result["changed"]
    assert "still works on 2 requests" in result["msg"] and "given back" in result["msg"]
    assert result["drain"]["requests"] == 2
    assert router.changes[-1][2] == {"url": busy.url, "priority": 80, "api_key": SERVER_KEY}


def test_a_server_that_is_busy_too_long_stays_out_when_the_operator_says_so(run, started, router):
    busy = ServerDouble(requests=2, patience=10**6)
    started.append(busy)
    router.workers[busy.url] = router.entry({"url": busy.url})
    result = run(router, busy, state="drained", drain_timeout=0.05, on_deadline="continue")
    assert result["changed"]
    assert not result["drain"]["idle"]
    assert busy.url not in router.workers


def test_a_router_that_does_not_follow_fails_with_the_records(run, router, server):
    router.workers[server.url]["priority"] = 80
    entries = list(router.workers.values())
    router.answer = lambda method, path, content: (200 if method == "GET" else 202, {"workers": entries})
    result = run(router, server, state="drained", timeout=0.3)
    assert result["failed"] and result["changed"]
    assert "has not let" in result["msg"]
    assert result["records"] == {router.url: {"priority": 80}}
    assert "diff" not in result


def test_a_server_that_only_the_router_sees_is_not_taken_for_dead(run, router, nobody):
    class Elsewhere:
        url = nobody

    router.workers[nobody] = router.entry({"url": nobody})
    result = run(router, Elsewhere, state="drained")
    assert result["failed"]
    assert "set server_url" in result["msg"]
    assert router.changes == []
    assert run(router, Elsewhere, state="drained", on_deadline="continue")["drain"]["idle"]


def test_a_dead_server_that_the_router_calls_unhealthy_is_drained(run, router, nobody):
    class Dead:
        url = nobody

    router.workers[nobody] = dict(router.entry({"url": nobody}), is_healthy=False)
    result = run(router, Dead, state="drained")
    assert result["changed"] and result["drain"]["idle"]


def test_the_server_may_be_reached_under_another_address_than_the_routers_use(run, router, server):
    router.workers["http://gpu01:30000"] = router.entry({"url": "http://gpu01:30000"})
    result = run(router, server, state="drained", worker_url="http://gpu01:30000/", server_url=server.url)
    assert result["changed"] and result["drain"]["idle"]
    assert "http://gpu01:30000" not in router.workers


def test_a_server_that_does_not_tell_its_load_is_not_taken_for_idle(run, started, router):
    class Silent(ServerDouble):
        def answer(self, method, path, content):
            return 404, {}

    started.append(Silent())
    router.workers[started[-1].url] = router.entry({"url": started[-1].url})
    result = run(router, started[-1], state="drained")
    assert result["failed"]
    assert "none of /v1/loads, /get_load and /metrics" in result["msg"]
    assert router.changes == []


@pytest.mark.parametrize("state", ["present", "absent", "drained"])
def test_check_mode_says_what_would_be_done_and_changes_nothing(run, router, server, tmp_path, state):
    if state == "present":
        router.workers.pop(server.url)
    before, after = ("absent", "present") if state == "present" else ("present", "absent")
    record = tmp_path / "record.json"
    result = run(router, server, state=state, record_file=str(record), _ansible_check_mode=True, _ansible_diff=True)
    assert result["changed"]
    assert "would be" in result["reason"]
    assert result["diff"]["before"][router.url]["state"] == before
    assert result["diff"]["after"][router.url]["state"] == after
    assert router.changes == []
    assert not record.exists()


def test_the_diff_shows_the_settings(run, router, server):
    router.workers[server.url]["priority"] = 80
    diff = run(router, server, state="absent", _ansible_diff=True)["diff"]
    assert diff["before"] == {router.url: {"state": "present", "priority": 80}}
    assert diff["after"] == {router.url: {"state": "absent"}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"router_urls": []}, "router_urls is empty"),
        ({"router_urls": ["router1:30080"]}, "router_urls is 'router1:30080'"),
        ({"worker_url": "gpu01:30000"}, "worker_url is 'gpu01:30000'"),
        ({"server_url": "127.0.0.1"}, "server_url is '127.0.0.1'"),
        ({"timeout": 0}, "timeout is 0"),
        ({"drain_timeout": -1}, "drain_timeout is -1"),
        ({"settings": {"api_key": "x-0123456789"}}, "settings must not hold api_key: give it as worker_api_key"),
        ({"records": {"http://r": 1}}, "records must be what an earlier router_worker returned"),
        ({"worker_api_key": None, "worker_api_key_file": "/nowhere/key"}, "worker_api_key_file is /nowhere/key"),
        ({"api_key": ""}, "api_key must hold one key"),
        ({"ca_path": "/nowhere/ca.pem"}, "ca_path is /nowhere/ca.pem"),
    ],
)
def test_bad_input_names_the_option_and_changes_nothing(run, router, server, arguments, message):
    result = run(router, server, state="absent", **arguments)
    assert result["failed"]
    assert message in result["msg"]
    assert router.changes == []
