# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import server_api
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi, ServerApiError, parse_url


@pytest.mark.parametrize(
    "url, expected",
    [
        ("http://127.0.0.1:30000", ("127.0.0.1", 30000, "http://127.0.0.1:30000")),
        ("http://gpu01/", ("gpu01", 80, "http://gpu01:80")),
        ("https://[fd00::1]/sglang/", ("fd00::1", 443, "https://[fd00::1]:443/sglang")),
    ],
)
def test_a_url_names_host_and_port(url, expected):
    address = parse_url(url)
    assert (address.host, address.port, address.url) == expected


@pytest.mark.parametrize(
    "url", ["", "gpu01:30000", "ftp://gpu01", "http://", "http://gpu01:port", "http://gpu01:99999"]
)
def test_a_url_that_is_none_is_named_with_the_way_out(url):
    with pytest.raises(ServerApiError) as error:
        parse_url(url)
    assert repr(url) in str(error.value)
    assert "http://127.0.0.1:30000" in str(error.value)


@pytest.mark.parametrize("url", ["http://me:hunter2@gpu01", "http://gpu01/?api_key=hunter2", "http://gpu01/#hunter2"])
def test_a_url_with_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(ServerApiError) as error:
        parse_url(url)
    assert "hunter2" not in str(error.value)
    assert "the key as an option of its own" in str(error.value)


def test_without_requests_one_sentence_names_the_interpreter_and_the_way_out(monkeypatch):
    monkeypatch.setattr(server_api, "requests", None)
    monkeypatch.setattr(server_api.sys, "executable", "/usr/bin/python3.9")
    with pytest.raises(ServerApiError) as error:
        ServerApi("http://127.0.0.1:30000")
    assert "/usr/bin/python3.9" in str(error.value)
    assert "ansible_python_interpreter" in str(error.value)


@pytest.mark.parametrize("status", [200, 302, 401, 403, 404, 503])
def test_every_status_is_an_answer_and_redirects_are_not_followed(http_double, status):
    double = http_double({"/health": status, "/elsewhere": 200})
    answer = ServerApi(double.url).get("/health")
    assert (answer.state, answer.status, answer.ok) == (str(status), status, status == 200)
    assert [path for path, _headers, _body in double.requests] == ["/health"]


def test_a_closed_port_is_refused(closed_port):
    api = ServerApi(closed_port)
    assert api.get("/health").state == server_api.REFUSED
    assert api.accepts().state == server_api.REFUSED


def test_a_listening_port_accepts_without_being_asked_anything(http_double):
    double = http_double({"/health": 200})
    assert ServerApi(double.url).accepts() is None
    assert double.requests == []


def test_what_keeps_silent_times_out(raw_server):
    answer = ServerApi(raw_server(), timeout=0.05).get("/health")
    assert (answer.state, answer.status) == (server_api.TIMEOUT, 0)
    assert answer.error


def test_what_hangs_up_is_a_reset(raw_server):
    assert ServerApi(raw_server(hang_up=True), timeout=5).get("/health").state == server_api.RESET


def test_what_speaks_something_else_is_garbled(raw_server):
    assert (
        ServerApi(raw_server(b"SSH-2.0-OpenSSH_9.2\r\n", hang_up=True), timeout=5).get("/").state == server_api.GARBLED
    )


def test_a_body_that_ends_early_is_no_answer(raw_server):
    url = raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", hang_up=True)
    answer = ServerApi(url, timeout=5).get("/health")
    assert not answer.ok
    assert answer.status == 0


def test_a_name_that_nobody_has_is_unreachable():
    assert ServerApi("http://no-such-host.invalid:1").get("/").state == server_api.UNREACHABLE


def test_an_answer_without_end_is_cut_off(http_double, monkeypatch):
    monkeypatch.setattr(server_api, "LONGEST_BODY", 1000)
    answer = ServerApi(http_double({"/metrics": (200, b"x" * 5000)}).url).get("/metrics")
    assert (answer.state, answer.body) == (server_api.GARBLED, "")


def test_a_private_ca_is_accepted_when_given_and_named_when_not(http_double, fixtures):
    url = http_double({"/health": 200}, tls=True).url
    assert ServerApi(url, ca_path=str(fixtures / "tls" / "ca.pem")).get("/health").ok
    refused = ServerApi(url).get("/health")
    assert refused.state == server_api.TLS
    assert "certificate" in refused.error


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_certificates_can_be_left_unchecked(http_double):
    assert ServerApi(http_double({"/health": 200}, tls=True).url, validate_certs=False).get("/health").ok


def test_https_to_a_server_without_it_is_a_tls_failure(http_double):
    url = http_double({"/health": 200}).url.replace("http:", "https:")
    assert ServerApi(url).get("/health").state == server_api.TLS


def test_the_key_is_sent_as_a_bearer_token(http_double):
    double = http_double({"/v1/models": 200})
    ServerApi(double.url, "userkey").get("/v1/models")
    assert double.requests[0][1]["Authorization"] == "Bearer userkey"


def test_proxies_of_the_environment_are_not_used(http_double, closed_port, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, closed_port)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ServerApi(http_double({"/health": 200}).url).get("/health").ok


def test_a_completion_is_asked_for_greedily(http_double):
    double = http_double({"/generate": (200, b"{}")})
    ServerApi(double.url).generate("Once upon a time", 128, 5)
    path, _headers, body = double.requests[0]
    asked = json.loads(body)
    assert path == "/generate"
    assert asked["text"] == "Once upon a time"
    assert asked["sampling_params"] == {"temperature": 0, "max_new_tokens": 128}


def test_server_information_of_a_real_release_comes_without_its_keys(http_double, fixtures):
    body = (fixtures / "http" / "0.5.23-server_info.json").read_bytes()
    status, fields = ServerApi(http_double({"/server_info": (200, body)}).url, "userkey").server_info()
    assert status == 200
    assert fields["speculative_algorithm"] == "EAGLE"
    assert fields["max_total_num_tokens"] == 20000
    assert fields["tokenizer_path"] == "/shared/models/tiny-qwen3.5"
    assert fields["internal_states"][0]["avg_spec_accept_length"] == 2.2857
    assert "launch_command" not in fields
    text = json.dumps(fields)
    assert "userkey" not in text
    assert "adminkey" not in text


def test_old_releases_have_the_information_elsewhere(http_double):
    double = http_double({"/get_server_info": (200, b'{"version": "0.5.3"}')})
    assert ServerApi(double.url).server_info() == (200, {"version": "0.5.3"})


@pytest.mark.parametrize("answer, status", [(401, 401), (503, 503), ((200, b"<html>"), 200), ((200, b"[1]"), 200)])
def test_no_information_is_told_with_its_status(http_double, answer, status):
    assert ServerApi(http_double({"/server_info": answer}).url).server_info() == (status, None)


def test_no_server_has_no_status(closed_port):
    assert ServerApi(closed_port).server_info() == (0, None)


def test_a_body_nested_without_end_is_no_json():
    assert server_api.Answer("200", 200, "[" * 200000).json() is None
