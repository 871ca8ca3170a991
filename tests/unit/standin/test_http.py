# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a ready server answers: to whom, in which shape, and how its text comes about."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from pathlib import Path

import pytest
from sglang.auth import is_allowed
from sglang.releases import Release
from sglang.speculation import Counts, Drafts, meta_info

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "http"


@pytest.mark.parametrize("path", ["/health", "/health_generate", "/ready", "/metrics"])
@pytest.mark.parametrize("key", [None, "userkey", "adminkey", "wrong"])
def test_probes_are_open_to_all(path, key):
    assert is_allowed(path, key and f"Bearer {key}", "userkey", "adminkey")


@pytest.mark.parametrize("path", ["/v1/models", "/server_info", "/get_load", "/generate", "/nowhere"])
@pytest.mark.parametrize(
    "authorization, allowed",
    [
        (None, False),
        ("Bearer userkey", True),
        ("bearer userkey", True),
        ("userkey", False),
        ("Bearer adminkey", False),
        ("Bearer wrong", False),
    ],
)
def test_the_api_key_opens_the_rest_and_the_admin_key_does_not(path, authorization, allowed):
    assert is_allowed(path, authorization, "userkey", "adminkey") is allowed


def test_administration_takes_the_admin_key_where_there_is_one():
    assert is_allowed("/freeze_gc", "Bearer adminkey", "userkey", "adminkey")
    assert not is_allowed("/freeze_gc", "Bearer userkey", "userkey", "adminkey")
    assert is_allowed("/freeze_gc", "Bearer userkey", "userkey", None)


def test_with_the_admin_key_alone_reading_is_open():
    assert is_allowed("/server_info", None, None, "adminkey")


def test_keys_over_http_as_captured(ready):
    standin = ready("--api-key", "userkey", "--admin-api-key", "adminkey")
    assert standin.ask("/server_info", key="wrong") == (401, {"error": "Unauthorized"})
    assert standin.ask("/nowhere", key="wrong") == (401, {"error": "Unauthorized"})
    assert standin.status("/nowhere", key="userkey") == 404
    status, info = standin.ask("/server_info", key="userkey")
    assert status == 200
    assert (info["api_key"], info["admin_api_key"]) == ("userkey", "adminkey"), "a real server leaks both"
    assert "--api-key userkey --admin-api-key adminkey" in info["launch_command"], "twice"
    assert any("'api_key': 'userkey'" in line for line in standin.log), "and prints them in its banner"


@pytest.mark.parametrize("release, has_command", [("0.5.18", False), ("0.5.23", True)])
def test_server_info(ready, release, has_command):
    standin = ready("--decode-log-interval", "5", release=release)
    info = standin.ask("/server_info")[1]
    assert (info["version"], info["status"], info["speculative_algorithm"]) == (release, "ready", "EAGLE")
    assert info["mem_fraction_static"] == 0.785126015625
    assert "avg_spec_accept_length" not in info["internal_states"][0], "absent until an interval is logged"
    assert ("launch_command" in info) is has_command
    standin.generate()
    assert standin.ask("/server_info")[1]["internal_states"][0]["avg_spec_accept_length"] == pytest.approx(3.2, abs=0.1)


def test_speculation_costs_cache_and_running_requests(ready):
    plain, mtp = ready(mtp=False).ask("/server_info")[1], ready().ask("/server_info")[1]
    assert mtp["max_total_num_tokens"] < plain["max_total_num_tokens"]
    assert (plain["max_running_requests"], mtp["max_running_requests"]) == (None, 48)


def test_models_and_loads_and_metrics(ready):
    standin = ready("--served-model-name", "qwen", "--enable-metrics")
    assert standin.ask("/v1/models")[1]["data"][0]["id"] == "qwen"
    assert standin.ask("/model_info")[1]["architectures"] == ["Qwen3_5MoeForConditionalGeneration"]
    loads = standin.ask("/v1/loads")[1]
    assert (loads["version"], loads["loads"][0]["num_running_reqs"]) == ("0.5.23", 0)
    assert "sglang:spec_accept_length{" in standin.ask("/metrics")[1]
    assert "sglang:spec_verify_calls_total{" in standin.ask("/metrics")[1], "the warm-up has verified"


def test_metrics_without_speculation_have_the_gauges_as_zero_and_no_verify_calls(ready):
    text = ready("--enable-metrics", mtp=False).ask("/metrics")[1]
    lengths = [line for line in text.splitlines() if line.startswith("sglang:spec_accept_length{")]
    assert lengths[0].endswith(" 0.0")
    assert "spec_verify_calls_total" not in text


def test_answers_have_the_fields_of_the_real_ones(ready):
    standin = ready("--decode-log-interval", "5", "--tp-size", "2")
    meta_info = standin.generate()["meta_info"]
    info = standin.ask("/server_info")[1]
    state = info["internal_states"][0]
    ours = {
        "server_info": info,
        "internal_states": state,
        "memory_usage": state["memory_usage"],
        "startup_time": info["startup_time"],
        "meta_info": meta_info,
    }
    real = json.loads((FIXTURES / "0.5.23-realserver-nextn-fields.json").read_text())
    assert {name: sorted(fields) for name, fields in ours.items()} == real


@pytest.mark.parametrize(
    "release, retractions, has_gauges, has_layout",
    [
        ("0.5.10", "total_retractions", False, False),
        ("0.5.14", "num_retractions", False, False),
        ("0.5.18", "num_retractions", True, False),
        ("0.5.23", "num_retractions", True, True),
    ],
)
def test_fields_that_came_with_a_release(ready, release, retractions, has_gauges, has_layout):
    standin = ready("--enable-metrics", release=release, mtp=False)
    assert retractions in standin.generate(tokens=4)["meta_info"]
    assert ("sglang:spec_cap_length{" in standin.ask("/metrics")[1]) is has_gauges
    assert ("hicache_object_layout" in standin.ask("/server_info")[1]) is has_layout


def test_greedy_text_is_the_same_with_and_without_speculation(ready):
    plain, mtp = ready(mtp=False), ready()
    first, again, with_mtp = plain.generate("Tell me"), plain.generate("Tell me"), mtp.generate("Tell me")
    assert first["output_ids"] == again["output_ids"] == with_mtp["output_ids"]
    assert first["text"] == with_mtp["text"] != plain.generate("Tell us")["text"]
    assert again["meta_info"]["cached_tokens"] > 0
    assert not [key for key in first["meta_info"] if key.startswith("spec_")]
    assert with_mtp["meta_info"]["spec_verify_ct"] == 20


def test_sampling_is_not_greedy(ready):
    standin = ready()
    body = {"text": "Tell me", "sampling_params": {"temperature": 0.7, "max_new_tokens": 32}}
    assert standin.ask("/generate", body)[1]["text"] != standin.ask("/generate", body)[1]["text"]


@pytest.mark.parametrize("path, chunks_to_text", [("/v1/completions", "text"), ("/v1/chat/completions", "delta")])
def test_openai_answers_whole_and_streamed_are_the_same_text(ready, path, chunks_to_text):
    standin = ready()
    body = {"prompt": "Hi", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "max_tokens": 12}
    whole = standin.ask(path, body)[1]
    choice = whole["choices"][0]
    text = choice["text"] if path == "/v1/completions" else choice["message"]["content"]
    assert (whole["usage"]["completion_tokens"], choice["finish_reason"]) == (12, "length")

    request = urllib.request.Request(
        f"http://127.0.0.1:{standin.port}{path}", json.dumps({**body, "stream": True}).encode()
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        events = [line[len("data: "):] for line in response.read().decode().splitlines() if line]
    assert events.pop() == "[DONE]"
    parts = [json.loads(event)["choices"][0][chunks_to_text] for event in events]
    assert len(parts) > 1
    assert "".join(part if isinstance(part, str) else part["content"] for part in parts) == text


def test_requests_run_together(ready):
    standin = ready(STANDIN_TOKENS_PER_SECOND="100", mtp=False)
    answers = []
    threads = [
        threading.Thread(target=lambda word=word: answers.append(standin.generate(word, tokens=60)))
        for word in ("one", "two", "three")
    ]
    for thread in threads:
        thread.start()
    standin.wait_for("Decode batch, #running-req: 3")
    for thread in threads:
        thread.join(20)
    assert len({answer["text"] for answer in answers}) == 3


@pytest.mark.parametrize("mtp, accept_length", [(True, r"accept len: 3\.\d\d, accept rate: 0\.7\d, "), (False, "")])
def test_decode_line(ready, mtp, accept_length):
    standin = ready("--decode-log-interval", "10", "--tp-size", "2", mtp=mtp)
    standin.generate()
    line = standin.wait_for("Decode batch")
    assert " TP0] Decode batch, #running-req: 1, #full token: " in line
    assert re.search(rf", mamba usage: 0\.\d\d, {accept_length}cuda graph: True, gen throughput \(token/s\): ", line)


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"text": "x", "sampling_params": {"max_new_tokens": 0}}'])
def test_a_bad_request_is_answered_400(ready, body):
    standin = ready()
    request = urllib.request.Request(f"http://127.0.0.1:{standin.port}/generate", body)
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(request, timeout=20)
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    "accept_length, verifies, correct", [(4.0, 16, 48), (1.0, 63, 0)], ids=["every draft right", "no draft right"]
)
def test_64_tokens_take_as_many_steps_as_on_a_real_server(accept_length, verifies, correct):
    """Measured on 0.5.23 with 3/1/4: 48 of 48 drafts, and 0 of 189."""
    drafts, counts, tokens = Drafts(accept_length, 3), Counts(4), 1
    while tokens < 64:
        right = drafts.correct()
        counts.add(right)
        tokens += 1 + right
    assert (counts.verifies, counts.correct, counts.proposed) == (verifies, correct, verifies * 3)


SPEC_KEYS = {
    "0.5.9": "accept_rate accept_length verify_ct accept_histogram accept_token_num draft_token_num",
    "0.5.11": "accept_rate accept_length verify_ct accepted_drafts proposed_drafts accept_histogram",
    "0.5.12": "accept_rate accept_length verify_ct num_correct_drafts num_proposed_drafts correct_drafts_histogram "
    "accepted_drafts proposed_drafts accept_histogram",
    "0.5.23": "accept_rate accept_length verify_ct num_correct_drafts num_proposed_drafts correct_drafts_histogram",
}


@pytest.mark.parametrize("release", SPEC_KEYS)
def test_meta_info_has_the_keys_of_the_release(release):
    counts = Counts(4)
    for right in (0, 3, 3, 1):
        counts.add(right)
    meta = meta_info(counts, 12, Release(release))
    assert set(meta) == {"spec_" + key for key in SPEC_KEYS[release].split()}
    assert meta["spec_accept_length"] == 3.0
    assert meta["spec_accept_rate"] == pytest.approx(7 / 12)
