# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import router_api
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils.router_api import RouterError, open_router
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApiError

URL = "http://127.0.0.1:21002"
UUID = "abd9bcc0-056c-40c3-8354-17699167bcae"
ENTRY = {"id": UUID, "url": URL, "model_id": "m", "is_healthy": True}
LIST = (200, json.dumps({"workers": [ENTRY], "total": 1}).encode())
ACCEPTED = (202, json.dumps({"status": "accepted", "worker_id": UUID}).encode())
KEY = "rk-secret-0123"


def connected(double):
    redactor = Redactor()
    redactor.learn(KEY)
    return open_router(double.url, KEY, redactor)


def asked(double):
    return [(path, json.loads(body) if body else None) for path, _headers, body in double.requests]


def test_the_newer_api_is_asked_first_with_the_admin_key(http_double):
    double = http_double({"/workers": LIST})
    router = connected(double)
    assert [worker.url for worker in router.workers()] == [URL]
    assert router.generation == "workers"
    assert double.requests[0][1]["Authorization"] == f"Bearer {KEY}"


def test_a_router_without_it_is_asked_by_the_older_one_and_from_then_on_only_so(http_double):
    double = http_double({"/list_workers": (200, json.dumps({"urls": [URL]}).encode())})
    router = connected(double)
    router.workers()
    router.workers()
    assert router.generation == "list_workers"
    assert [path for path, _content in asked(double)] == ["/workers", "/list_workers", "/list_workers"]


def test_what_has_neither_is_no_router(http_double):
    with pytest.raises(RouterError, match="404 on /workers and on /list_workers: it is no SGLang router"):
        connected(http_double({})).workers()


def test_a_router_that_is_down_is_named(closed_port):
    with pytest.raises(RouterError, match=f"The router at {closed_port} does not list its workers: nothing listens"):
        open_router(closed_port, None, Redactor()).workers()


def test_a_wrong_key_is_said_with_the_option_and_without_the_key(http_double):
    with pytest.raises(RouterError, match="answers 401.*api_key") as refused:
        connected(http_double({"/workers": (401, b"")})).workers()
    assert KEY not in str(refused.value)


def test_something_that_lists_no_workers_is_quoted_without_the_key(http_double):
    body = json.dumps({"hello": f"Bearer {KEY}"}).encode()
    with pytest.raises(RouterError, match="answers 200 and says: .*hello") as refused:
        connected(http_double({"/workers": (200, body)})).workers()
    assert KEY not in str(refused.value)


def test_an_addition_gives_the_id_of_its_job(http_double):
    double = http_double({"/workers": LIST})
    router = connected(double)
    router.workers()
    double.answers["/workers"] = ACCEPTED
    assert router.add(URL, {"priority": 3}, "wk") == UUID
    assert asked(double)[-1] == ("/workers", {"priority": 3, "url": URL, "api_key": "wk"})


def test_an_addition_of_a_known_worker_has_no_job(http_double):
    double = http_double({"/workers": LIST})
    router = connected(double)
    router.workers()
    double.answers["/workers"] = (409, b'{"code":"WORKER_ALREADY_EXISTS"}')
    assert router.add(URL, {}, None) == ""


def test_a_refused_addition_is_quoted(http_double):
    double = http_double({"/workers": LIST})
    router = connected(double)
    router.workers()
    double.answers["/workers"] = (422, b"invalid type: string, expected u32\n")
    with pytest.raises(RouterError, match="did not take .*: it answers 422 and says: invalid type: string, expected"):
        router.add(URL, {"priority": "high"}, None)


@pytest.mark.parametrize("answer", [ACCEPTED, (404, b'{"code":"WORKER_NOT_FOUND"}')])
def test_a_removal_is_done_or_was_done_before(http_double, answer):
    double = http_double({"/workers": LIST, f"/workers/{UUID}": answer})
    router = connected(double)
    (worker,) = router.workers()
    router.remove(worker, {"priority": 3}, "wk")
    assert asked(double)[-1] == (f"/workers/{UUID}", None)


def test_a_refused_removal_is_quoted(http_double):
    router = connected(http_double({"/workers": LIST}))
    (worker,) = router.workers()
    with pytest.raises(RouterError, match=f"did not let {URL} go: it answers 404"):
        router.remove(worker, {"priority": 3}, "wk")


def test_the_id_of_a_server_that_0_3_lists_by_ranks_is_asked_for_and_its_job_waited_for(http_double, monkeypatch):
    ranks = [dict(ENTRY, url=f"{URL}@{rank}") for rank in (0, 1)]
    at_work = (200, b'{"job_status": {"status": "processing"}}')
    double = http_double({"/workers": (200, json.dumps({"workers": ranks}).encode()), "/workers/the-id": at_work})
    router = connected(double)
    (worker,) = router.workers()
    double.answers["/workers"] = (202, json.dumps({"worker_id": "the-id"}).encode())
    monkeypatch.setattr(router_api.time, "sleep", lambda _seconds: double.answers.update({"/workers/the-id": ACCEPTED}))
    router.remove(worker, {"priority": 3}, "wk")
    assert asked(double)[1:] == [
        ("/workers", {"priority": 3, "url": URL, "api_key": "wk"}),
        ("/workers/the-id", None),
        ("/workers/the-id", None),
        ("/workers/the-id", None),
    ]


def test_a_job_that_never_ends_is_no_id(http_double, monkeypatch):
    ranks = [dict(ENTRY, url=f"{URL}@{rank}") for rank in (0, 1)]
    double = http_double({"/workers": (200, json.dumps({"workers": ranks}).encode())})
    router = connected(double)
    (worker,) = router.workers()
    double.answers["/workers"] = (202, b'{"worker_id": "the-id"}')
    double.answers["/workers/the-id"] = (200, b'{"job_status": {"status": "pending"}}')
    monkeypatch.setattr(router_api.time, "sleep", lambda _seconds: None)
    with pytest.raises(RouterError, match=f"does not tell the id of {URL}"):
        router.remove(worker, {}, None)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, b'{"job_status":{"status":"failed","message":"no route"}}'), "no route"),
        ((200, b'{"job_status":{"status":"pending"}}'), ""),
        (404, ""),
    ],
)
def test_a_job_that_failed_says_why(http_double, answer, message):
    double = http_double({"/workers": LIST, f"/workers/{UUID}": answer})
    assert connected(double).failed_job(UUID) == message


def test_no_job_is_not_asked_for(http_double):
    double = http_double({})
    assert connected(double).failed_job("") == ""
    assert double.requests == []


@pytest.mark.parametrize("url", ["router1:30080", "ftp://router1", "http://user:pw@router1", "http://router1/?key=1"])
def test_an_address_that_is_none_names_the_option_and_no_password(url):
    with pytest.raises(ServerApiError, match="^router_urls") as refused:
        open_router(url, None, Redactor())
    assert "pw" not in str(refused.value)
