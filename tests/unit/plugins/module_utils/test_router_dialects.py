# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import router_dialects
from ansible_collections.llmops.sglang.plugins.module_utils.router_dialects import ListApi, RestApi
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import Answer

URL = "http://127.0.0.1:21002"
UUID = "abd9bcc0-056c-40c3-8354-17699167bcae"
OF_0_2 = {"id": URL, "url": URL, "model_id": "m", "worker_type": "regular", "is_healthy": True}
OF_0_3 = dict(OF_0_2, id=UUID)
OF_SMG = dict(OF_0_3, status="ready", models=[{"id": "m"}, {"id": "adapter"}])


def listed(*entries):
    return RestApi.workers({"workers": list(entries)})


def test_the_old_list_knows_urls_and_no_health():
    (worker,) = ListApi.workers({"urls": [URL]})
    assert worker.is_server(URL + "/")
    assert worker.healthy is None


@pytest.mark.parametrize("content", [None, [], {}, {"workers": 1}, {"workers": [{"id": "x"}]}, {"workers": [URL]}])
def test_an_answer_that_lists_no_workers_is_no_list(content):
    assert RestApi.workers(content) is None


@pytest.mark.parametrize("content", [None, {}, {"urls": URL}, {"urls": [1]}])
def test_an_answer_that_lists_no_urls_is_no_list(content):
    assert ListApi.workers(content) is None


def test_all_models_of_a_server_count_and_an_unknown_one_does_not():
    assert listed(OF_SMG)[0].models == {"m", "adapter"}
    assert listed(dict(OF_0_3, model_id="unknown"))[0].models == frozenset()


def test_a_draining_worker_is_not_healthy_whatever_else_is_said():
    worker = listed(dict(OF_SMG, status="draining"))[0]
    assert worker.draining
    assert worker.healthy is False


def test_the_ranks_of_a_server_are_one_worker_and_it_is_healthy_when_all_are():
    ranks = [dict(OF_0_3, url=f"{URL}@{rank}", is_healthy=rank == 0) for rank in (0, 1)]
    (worker,) = listed(*ranks)
    assert worker.is_server(URL)
    assert worker.has_ranks
    assert worker.healthy is False


@pytest.mark.parametrize(
    ("entries", "paths"),
    [
        ([OF_0_2], ["/workers/http%3A%2F%2F127.0.0.1%3A21002"]),
        ([OF_0_3], [f"/workers/{UUID}"]),
        ([dict(OF_0_2, id=f"{URL}@0", url=f"{URL}@0")], ["/workers/http%3A%2F%2F127.0.0.1%3A21002"]),
        ([dict(OF_0_3, url=f"{URL}@0")], []),
        ([dict(OF_SMG, url=f"{URL}@{rank}", dp_base_url=URL) for rank in (0, 1)], [f"/workers/{UUID}"] * 2),
    ],
)
def test_a_removal_names_what_the_release_removes_by(entries, paths):
    requests = RestApi.removals(listed(*entries)[0])
    assert [(request.method, request.path) for request in requests] == [("DELETE", path) for path in paths]


def test_the_old_removal_sends_the_url_as_the_router_spells_it():
    (request,) = ListApi.removals(ListApi.workers({"urls": [URL + "/"]})[0])
    assert (request.method, request.path) == ("POST", "/remove_worker?url=http%3A%2F%2F127.0.0.1%3A21002%2F")


def test_an_addition_carries_settings_and_key_where_the_release_takes_them():
    assert RestApi.addition(URL, {"priority": 7}, "wk").content == {"url": URL, "priority": 7, "api_key": "wk"}
    assert "api_key" not in RestApi.addition(URL, {}, None).content
    assert "wk" not in str(ListApi.addition(URL, {"priority": 7}, "wk"))


@pytest.mark.parametrize(
    ("status", "body", "known"),
    [
        (409, '{"code":"WORKER_ALREADY_EXISTS"}', True),
        (409, '{"code":"WORKER_CREATE_IN_PROGRESS"}', True),
        (409, '{"code":"SOMETHING_ELSE"}', False),
        (400, f"Worker {URL} already exists", True),
        (400, '{"error":"Invalid JSON data"}', False),
        (422, "missing field `url`", False),
    ],
)
def test_a_refusal_because_the_worker_is_known_is_told_from_others(status, body, known):
    assert router_dialects.is_known(Answer(str(status), status, body)) is known


@pytest.mark.parametrize(
    ("status", "body", "gone"),
    [
        (404, '{"error":"Worker x not found","code":"WORKER_NOT_FOUND"}', True),
        (404, "", False),
        (400, f"Worker {URL} not found", True),
        (400, '{"code":"BAD_REQUEST"}', False),
    ],
)
def test_a_refusal_because_the_worker_is_gone_is_told_from_a_route_that_is_missing(status, body, gone):
    assert router_dialects.is_gone(Answer(str(status), status, body)) is gone


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"job_status": {"status": "failed", "message": "step detect_connection_mode"}}, "step detect_connection_mode"),
        ({"job_status": {"status": "failed", "message": None}}, "it gives no reason"),
        ({"job_status": {"status": "processing"}}, ""),
        ({"id": UUID}, ""),
        (None, ""),
    ],
)
def test_only_a_job_that_failed_has_a_message(content, message):
    assert router_dialects.failed_job(content) == message


@pytest.mark.parametrize("content", [{"status": "accepted"}, {"worker_id": 7}, None, "ok"])
def test_an_answer_without_an_id_gives_none(content):
    assert router_dialects.queued_id(content) == ""
