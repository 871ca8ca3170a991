# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.modules import mtp_prove

# A release with counts of drafts, and what it takes to start it with NEXTN.
BEFORE_0_5_14 = ("--mamba-scheduler-strategy", "extra_buffer")


@pytest.fixture
def prove(run_module):
    def prove(server, **options):
        return run_module(mtp_prove.main, **dict({"url": server.url, "max_tokens": 64, "deadline": 10}, **options))

    return prove


def test_a_server_with_mtp_is_proven(mtp_server, prove):
    result = prove(mtp_server)
    assert (result["failed"], result["changed"], result["verdict"]) == (False, False, "proven")
    assert (result["accept_length"], result["accept_length_source"]) == (3.2, "generate")
    assert result["drafts"]["correct"] / result["drafts"]["proposed"] > 0.5
    assert result["version"] == "0.5.23"
    assert result["reference"] is None
    assert result["capacity"]["before"] is None
    assert result["capacity"]["now"]["kv_tokens"] > 0
    assert result["capacity"]["now"]["running_requests"] == 48
    assert [request["prompt"] for request in result["requests"]][::5] == ["copy", "copy"]
    assert all(request["tokens"] == 64 and not request["error"] for request in result["requests"])
    assert result["tokens"] == 6 * 64


def test_what_the_old_server_answered_is_recorded_and_compared(start_server, prove, tmp_path):
    reference = tmp_path / "reference.json"
    old = start_server(mtp=False)
    assert prove(old, record=str(reference), check_mode=True)["changed"] is True
    assert not reference.exists()
    assert prove(old, record=str(reference))["changed"] is True
    assert prove(old, record=str(reference))["changed"] is False
    before = prove(old, record=str(reference))["capacity"]["now"]
    old.kill()
    result = prove(start_server(port=old.port), reference=str(reference))
    assert result["verdict"] == "proven"
    assert (result["reference"]["compared"], result["reference"]["matching_tokens"]) == (3, 64)
    assert result["capacity"]["before"] == before
    assert result["capacity"]["now"]["kv_tokens"] < before["kv_tokens"]


def test_garbage_is_refuted_by_the_reference_with_both_texts(start_server, prove, tmp_path):
    reference = str(tmp_path / "reference.json")
    old = start_server(mtp=False)
    prove(old, record=reference)
    old.kill()
    result = prove(start_server(fault="garbage-output", port=old.port), reference=reference)
    assert (result["failed"], result["verdict"]) == (True, "refuted")
    assert "The output has changed" in result["msg"]
    difference = result["reference"]["differences"][0]
    assert difference["at_token"] < 16
    assert difference["expected"] != difference["got"]


@pytest.mark.parametrize("fault", ["accept-nothing", "unsteady-output", "hang-on-request=3", "crash-on-first-request"])
def test_what_looks_well_and_is_not_is_refuted_with_its_reason(start_server, prove, fault):
    reasons = {
        "accept-nothing": "0 of",
        "unsteady-output": "The same prompt twice",
        "hang-on-request=3": "no complete answer came in time",
        "crash-on-first-request": "requests failed",
    }
    result = prove(start_server(fault=fault), deadline=1)
    assert (result["failed"], result["verdict"]) == (True, "refuted")
    assert reasons[fault] in result["reason"]
    assert result["reason"] in result["msg"]


def test_an_accept_length_of_garbage_is_refuted(start_server, prove):
    result = prove(start_server(fault="accept-nothing", STANDIN_ACCEPT_LENGTH="1.12"), fail=False)
    assert (result["failed"], result["verdict"]) == (False, "refuted")
    assert 1.1 < result["accept_length"] < 1.2
    assert "another model" in result["reason"]


def test_a_release_that_names_its_counts_otherwise_is_judged_alike(start_server, prove):
    environ = {"SGLANG_ENABLE_SPEC_V2": "1"}
    result = prove(start_server(*BEFORE_0_5_14, release="0.5.10", **environ))
    assert (result["verdict"], result["version"]) == ("proven", "0.5.10")


def test_a_server_without_speculation_is_refuted_unless_that_is_what_is_expected(start_server, prove):
    server = start_server(mtp=False)
    refuted = prove(server)
    assert (refuted["verdict"], refuted["accept_length"]) == ("refuted", None)
    assert "without speculation" in refuted["reason"]
    assert prove(server, expect_speculation=False)["verdict"] == "proven"


def test_the_right_key_opens_and_a_wrong_one_is_said_as_such(start_server, prove, tmp_path):
    server = start_server("--api-key", "sk-the-right-one", "--admin-api-key", "sk-of-the-admin")
    (tmp_path / "key").write_text("sk-the-right-one\n")
    assert prove(server, api_key_file=str(tmp_path / "key"))["verdict"] == "proven"
    for key in ("sk-of-the-admin", None):
        result = prove(server, api_key=key)
        assert result["verdict"] == "inconclusive"
        assert "401 (Unauthorized)" in result["msg"]
        assert "sk-" not in json.dumps({name: value for name, value in result.items() if name != "invocation"})


def test_few_tokens_leave_it_open(mtp_server, prove):
    result = prove(mtp_server, max_tokens=8, requests=2)
    assert result["verdict"] == "inconclusive"
    assert "16 tokens are too few" in result["reason"]


def test_no_server_is_refuted(run_module, closed_port):
    result = run_module(mtp_prove.main, url=closed_port)
    assert result["verdict"] == "refuted"
    assert "nothing listens on the port" in result["msg"]


@pytest.mark.parametrize(
    "options, clue",
    [
        ({"requests": 1}, "requests is 1"),
        ({"min_accept_length": 0.9}, "min_accept_length is 0.9"),
        ({"url": "gpu01"}, "url is 'gpu01'"),
        ({"reference": "/nowhere/reference.json"}, "reference is /nowhere/reference.json"),
        ({"api_key_file": "/nowhere/key"}, "api_key_file is /nowhere/key"),
        ({"api_key": "sk-topsecret", "api_key_file": "/b"}, "mutually exclusive"),
    ],
)
def test_bad_options_are_named_before_anything_is_sent(run_module, options, clue):
    result = run_module(mtp_prove.main, **dict({"url": "http://127.0.0.1:9"}, **options))
    assert result["failed"]
    assert clue in result["msg"]
    assert "requests" not in result or not isinstance(result["requests"], list)


def test_a_place_to_record_that_is_none_is_named(mtp_server, prove):
    result = prove(mtp_server, record="/nowhere/reference.json")
    assert result["failed"]
    assert "record is /nowhere/reference.json" in result["msg"]
