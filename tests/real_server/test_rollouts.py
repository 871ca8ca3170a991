# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook against the real server, with right and wrong checkpoints: each with its verdict and reason."""

from __future__ import annotations

import re

import node_access
import pytest
from rig.environment import NEWEST, OLDER
from rig.node import NAME

MODELS = "/shared/models/alphabet"
PORT_OF_ANOTHER = 30001
OLD_ANSWER = "efghijklmn"


def outcome(run):
    record = run.records[NAME]
    return record["verdict"], record["action"]


def reason(run):
    return run.records[NAME]["reason"]


def condition(run, name):
    return next(condition for condition in run.records[NAME]["conditions"] if condition["name"] == name)


def assert_the_old_server_generates():
    answer = node_access.continuation("Hello world")
    assert answer["text"] == OLD_ANSWER
    assert "spec_verify_ct" not in answer["meta_info"]


def assert_rolled_back(run):
    assert run.exit_code == 2
    assert outcome(run) == ("refuted", "rolled_back")
    assert "The last known good server is back and ready" in reason(run)
    assert_the_old_server_generates()


def test_a_good_head_is_proven_and_a_second_run_changes_nothing(old_server, deploy):
    first = deploy()
    assert (first.exit_code, outcome(first)) == (0, ("proven", "deployed"))
    assert "accept length 4.00" in reason(first)
    assert "All 3 answers that were compared are those from before." in reason(first)
    assert condition(first, "draft_model")["evidence"][0]["line"].startswith("Load weight end.")
    assert node_access.continuation("Hello world")["text"] == OLD_ANSWER

    second = deploy()
    assert (second.exit_code, outcome(second)) == (0, ("proven", "skipped"))
    assert second.records[NAME]["invocation_id"] == first.records[NAME]["invocation_id"]


def test_mtp_is_switched_off_again(old_server, deploy):
    deploy()
    run = deploy(mtp_enabled=False)
    assert (run.exit_code, outcome(run)) == (0, ("proven", "deployed"))
    assert_the_old_server_generates()


def test_a_head_that_is_partly_right_is_proven(old_server, deploy):
    run = deploy(mtp_draft_model_path=f"{MODELS}/partial")
    assert (run.exit_code, outcome(run)) == (0, ("proven", "deployed"))
    assert "accept length 3.20" in reason(run)


@pytest.mark.parametrize("head", ["dropped", "foreign"])
def test_a_head_without_use_is_refuted_although_the_log_looks_right(old_server, deploy, head):
    run = deploy(mtp_draft_model_path=f"{MODELS}/{head}")
    assert condition(run, "speculative_algorithm")["status"] == "met"
    assert condition(run, "draft_model")["status"] == "met"
    assert "drafts were correct" in reason(run)
    assert_rolled_back(run)


def test_a_head_whose_tensors_have_other_names_is_refuted_by_what_was_skipped(old_server, deploy):
    run = deploy(mtp_draft_model_path=f"{MODELS}/renamed")
    assert "tensors of the draft model were skipped" in reason(run)
    assert "mtp.fc.weight not found in params_dict" in condition(run, "draft_model")["evidence"][0]["line"]
    assert_rolled_back(run)


def test_a_draft_folder_that_is_missing_leaves_the_server_alone(old_server, deploy):
    run = deploy(mtp_draft_model_path=f"{MODELS}/nowhere")
    assert run.exit_code == 2
    assert outcome(run) == ("inconclusive", "untouched")
    assert f"mtp_draft_model_path is {MODELS}/nowhere, which does not exist on this host." in reason(run)
    assert_the_old_server_generates()


def test_an_unknown_draft_architecture_is_refuted(old_server, deploy):
    run = deploy(mtp_draft_model_path=f"{MODELS}/unheard-of")
    assert "UnheardOfForCausalLM" in reason(run)
    assert_rolled_back(run)


def test_a_plain_model_as_draft_is_refuted_by_its_class(old_server, deploy):
    run = deploy(mtp_draft_model_path=f"{MODELS}/llama")
    assert condition(run, "draft_model")["status"] == "unmet"
    assert "type=LlamaForCausalLM" in condition(run, "draft_model")["evidence"][0]["line"]
    assert_rolled_back(run)


def test_too_little_memory_is_refuted(old_server, deploy):
    run = deploy(mtp_mem_fraction_static=0.001)
    assert "Loaded weights leave no GPU memory for the KV cache" in reason(run)
    assert_rolled_back(run)


@pytest.fixture
def another_server(old_server):
    """Another SGLang, which does not belong to the unit, listens on PORT_OF_ANOTHER."""
    node_access.on_node(
        f"sed s/30000/{PORT_OF_ANOTHER}/ /etc/systemd/system/sglang.service > /run/systemd/system/another.service"
        " && systemctl daemon-reload && systemctl start another.service"
    )
    node_access.wait_until_ready(PORT_OF_ANOTHER)
    yield
    node_access.on_node(
        "systemctl stop another.service; rm /run/systemd/system/another.service; systemctl daemon-reload"
    )


def test_a_server_that_answers_for_the_dying_one_is_found_out(another_server, deploy):
    run = deploy(mtp_port=PORT_OF_ANOTHER)
    # Whichever is seen first: what the dying server logged, or who listens in its place.
    assert re.search(f"address already in use|Port {PORT_OF_ANOTHER} is held by process", reason(run))
    assert_rolled_back(run)


def test_both_ranks_have_to_show_the_draft_model(old_server, deploy, inventory_variables):
    threads = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1"}
    run = deploy(mtp_tensor_parallel_size=2, mtp_environment={**inventory_variables["mtp_environment"], **threads})
    assert (run.exit_code, outcome(run)) == (0, ("proven", "deployed"))
    # The ranks load at the same time, and log in any order.
    assert {evidence["rank"] for evidence in condition(run, "draft_model")["evidence"]} == {"TP0", "TP1"}
    assert "accept length 4.00" in reason(run)


def test_an_upgrade_keeps_mtp(old_server, deploy):
    before = deploy(mtp_python=f"{OLDER.place}/bin/python")
    assert (before.exit_code, outcome(before)) == (0, ("proven", "deployed"))
    assert node_access.server_info()["version"] == OLDER.release

    after = deploy()
    assert (after.exit_code, outcome(after)) == (0, ("proven", "deployed"))
    assert node_access.server_info()["version"] == NEWEST.release
    assert "All 3 answers that were compared are those from before." in reason(after)
