# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi
from ansible_collections.llmops.sglang.plugins.module_utils.server_load import ServerLoad

METRICS = """# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",tp_rank="0"} 2.0
sglang:num_used_tokens{engine_type="unified",tp_rank="0"} 512.0
sglang:num_running_reqs_total{tp_rank="0"} 99.0
"""


def loads(*ranks):
    return 200, json.dumps({"version": "0.5.23", "loads": list(ranks)}).encode()


def rank(running, waiting, tokens):
    return {"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": waiting, "num_used_tokens": tokens}


def read(double, key=None):
    return ServerLoad(ServerApi(double.url, key)).read()


@pytest.mark.parametrize(
    ("endpoint", "answer", "requests", "tokens"),
    [
        ("/v1/loads", loads(rank(2, 1, 300)), 3, 300),
        ("/v1/loads", loads(rank(2, 1, 300), rank(0, 4, 0)), 7, 300),
        ("/v1/loads", loads({"dp_rank": 0, "num_running_reqs": 0, "num_waiting_reqs": 0}), 0, None),
        ("/get_load", (200, b'[{"dp_rank":0,"num_reqs":5,"num_waiting_reqs":2,"num_tokens":80}]'), 5, 80),
        ("/get_load", (200, b'{"load": 0}'), 0, None),
        ("/get_load", (200, b'{"load": 4711}'), 1, None),
        ("/metrics", (200, METRICS.encode()), 5, 512),
    ],
)
def test_the_load_is_read_from_what_the_release_has(http_double, endpoint, answer, requests, tokens):
    seen = read(http_double({endpoint: answer}))
    assert (seen.requests, seen.tokens, seen.endpoint, seen.state) == (requests, tokens, endpoint, "200")


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("/v1/loads", b"{}"),
        ("/v1/loads", b'{"loads": []}'),
        ("/v1/loads", b'{"loads": [{"dp_rank": 0}]}'),
        ("/v1/loads", b'{"loads": [1]}'),
        ("/get_load", b"null"),
        ("/metrics", b"# nothing\n"),
        ("/metrics", b"sglang:num_running_reqs NaN\n"),
    ],
)
def test_an_answer_that_does_not_tell_is_not_zero(http_double, endpoint, body):
    assert not read(http_double({endpoint: (200, body)})).seen


@pytest.mark.parametrize("status", [401, 503])
def test_a_refused_question_is_not_zero(http_double, status):
    seen = read(http_double({"/v1/loads": status, "/get_load": (200, b'{"load": 0}')}))
    assert (seen.seen, seen.state) == (False, str(status))


def test_a_server_that_is_not_there_is_refused(closed_port):
    assert ServerLoad(ServerApi(closed_port)).read().state == "refused"


def test_the_endpoint_that_told_is_asked_again_and_no_other(http_double):
    double = http_double({"/get_load": (200, b'[{"num_reqs": 0}]')})
    load = ServerLoad(ServerApi(double.url, "wk"))
    load.read()
    load.read()
    assert [path for path, _headers, _body in double.requests] == ["/v1/loads", "/get_load", "/get_load"]
    assert double.requests[0][1]["Authorization"] == "Bearer wk"


def test_a_captured_answer_of_a_real_server_is_read(http_double, fixtures):
    captured = (fixtures / "http" / "0.5.23-realserver-nextn-metrics.txt").read_bytes()
    seen = read(http_double({"/metrics": (200, captured)}))
    assert (seen.requests, seen.tokens) == (0, 0)
