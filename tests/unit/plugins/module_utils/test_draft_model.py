# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import banner, draft_model
from ansible_collections.llmops.sglang.tests.unit.starts import (
    DRAFT,
    READY,
    TARGET,
    banner_text,
    condition,
    facts_of,
    judgement_of,
    load_line,
    log_line,
    records,
    start_lines,
)


def judged(lines, **expect):
    expect.setdefault("draft_model_class", DRAFT)
    return condition(judgement_of(lines, expect), "draft_model")


@pytest.mark.parametrize(
    ("fields", "ranks"),
    [
        ("tp_size=4", 4),
        ("tp_size=4, pp_size=2", 8),
        ("tp_size=16, nnodes=2", 8),
        ("tp_size=2, dp_size=4", 8),
        ("tp_size=8, dp_size=8, enable_dp_attention=True", 8),
        ("tp_size=1", 1),
        ("tp_size=1, nnodes=2", 1),
        ("tp_size=None, dp_size='x', nnodes=0", 1),
        ("", 1),
    ],
)
def test_local_ranks_follow_from_the_servers_arguments(fields, ranks):
    assert draft_model.local_ranks(banner.parse("ServerArgs(%s)" % fields)) == ranks


def test_it_is_on_every_rank():
    found = judged(start_lines(ranks=4))
    assert found["status"] == "met"
    assert found["expected"] == {"class": DRAFT, "ranks": 4, "memory_gb": None}
    assert found["observed"] == {"class": DRAFT, "ranks": 4, "memory_gb": [1.91, 1.91, 1.91, 1.91]}
    assert [evidence["rank"] for evidence in found["evidence"]] == ["TP0", "TP1", "TP2", "TP3"]


def test_with_one_rank_there_is_no_tag():
    assert judged(start_lines(ranks=1))["status"] == "met"


def test_a_missing_rank_is_named():
    found = judged(start_lines(ranks=4, draft_ranks=2))
    assert found["status"] == "unmet"
    assert "2 of 4 ranks, missing (TP2, TP3)" in found["reason"]


def test_a_rank_of_which_nothing_is_seen_is_no_counter_evidence():
    lines = [line for line in start_lines(ranks=4) if "TP3]" not in line]
    found = judged(lines)
    assert found["status"] == "no_evidence"
    assert "TP3" in found["reason"]


def test_more_ranks_asserted_than_there_are():
    assert judged(start_lines(ranks=2), draft_ranks=4)["status"] == "unmet"


def test_before_the_server_is_up_a_missing_draft_is_not_evidence():
    found = judged(start_lines(ranks=2, draft="", ready=False))
    assert found["status"] == "no_evidence"


def test_a_server_without_speculation_will_load_none():
    found = judged([log_line(banner_text(case="nospec"))])
    assert found["status"] == "unmet"
    assert found["evidence"][0]["line"] == "server_args=…speculative_algorithm=None…"


def test_a_plain_model_in_its_place_is_unmet_at_once():
    lines = start_lines(ranks=2, draft="Qwen3ForCausalLM", ready=False)
    found = judged(lines)
    assert found["status"] == "unmet"
    assert "Qwen3ForCausalLM" in found["reason"]


def test_several_draft_layers_on_a_rank_are_one_draft_model():
    lines = start_lines(ranks=1, draft="MiMoV2MTP", ready=False)
    lines += [load_line("MiMoV2MTP", 1.0), load_line("MiMoV2MTP", 1.0), log_line(READY)]
    found = judged(lines, draft_model_class="MiMoV2MTP", draft_memory_gb=3.91)
    assert found["status"] == "met"
    assert found["observed"]["ranks"] == 1
    assert found["observed"]["memory_gb"] == [3.91]


def test_a_standalone_draft_has_the_name_of_a_plain_model():
    both = [
        log_line(banner_text(tp_size="1")),
        load_line("Qwen3ForCausalLM"),
        load_line("Qwen3ForCausalLM"),
        log_line(READY),
    ]
    one = both[:2] + both[3:]
    assert judged(both, draft_model_class="Qwen3ForCausalLM")["status"] == "met"
    assert judged(one, draft_model_class="Qwen3ForCausalLM")["status"] == "unmet"


def test_without_a_class_the_second_load_of_a_rank_is_its_draft():
    lines = start_lines(ranks=2, draft="Qwen3ForCausalLM")
    assert judged(lines, draft_model_class=None, draft_ranks=2)["status"] == "met"


@pytest.mark.parametrize("pid", [None, 7])
def test_a_log_that_names_no_ranks(pid):
    lines = (
        [banner_text(tp_size="2"), "Load weight end. type=%s, mem usage=30.00 GB." % TARGET]
        + ["Load weight end. type=%s, mem usage=30.00 GB." % TARGET]
        + ["Load weight end. type=%s, mem usage=1.91 GB." % DRAFT] * 2
        + [READY]
    )
    if pid is None:
        assert judged(lines)["status"] == "met"
        assert judged(lines[:4] + lines[5:])["status"] == "unmet"
    else:
        loads = [records([lines[1], lines[3]], pid=number) for number in (11, 12)]
        log = facts_of(records(lines[:1], pid=7), *loads, records(lines[5:], pid=7))
        assert judged(log)["status"] == "met"


@pytest.mark.parametrize(
    ("memory", "asked", "status"),
    [
        (1.91, 1.91, "met"),
        (2.16, 1.91, "met"),
        (2.17, 1.91, "unmet"),
        (-0.0, 0.0, "met"),
        (-0.0, 1.91, "unmet"),
        (-3.2, 1.91, "no_evidence"),
    ],
)
def test_memory_is_compared_with_a_tolerance(memory, asked, status):
    lines = [log_line(banner_text(tp_size="1")), load_line(), load_line(DRAFT, memory), log_line(READY)]
    assert judged(lines, draft_memory_gb=asked)["status"] == status


def test_loads_that_name_no_class_are_no_evidence():
    late = log_line(
        "Load weight end. Committed real weights after CUDA graph capture in 3.50 s (capture overlap window 1 s)"
    )
    lines = [log_line(banner_text(tp_size="1")), late, late, log_line(READY)]
    assert judged(lines)["status"] == "no_evidence"


def test_what_was_loaded_instead_is_observed():
    found = judged(start_lines(ranks=2, draft="LlamaForCausalLM"))
    assert (found["status"], found["reason"]) == ("unmet", "the draft model loaded is LlamaForCausalLM")
    assert found["observed"] == {"class": "LlamaForCausalLM", "ranks": 2, "memory_gb": [1.91, 1.91]}


def test_ranks_with_different_draft_models_are_all_observed():
    lines = start_lines(ranks=2, draft_ranks=1)
    found = judged(lines[:-1] + [load_line("LlamaForCausalLM", 1.5, "TP1")] + lines[-1:])
    assert (found["status"], found["reason"]) == ("unmet", "the draft model loaded is LlamaForCausalLM")
    assert found["observed"]["class"] == ["LlamaForCausalLM", DRAFT]
    assert sorted(found["observed"]["memory_gb"]) == [1.5, 1.91]


def test_skipped_tensors_are_counter_evidence():
    skipped = log_line("Parameter model.language_model.mtp.fc.weight not found in params_dict, skip loading")
    lines = start_lines(ranks=1)
    found = judged(lines[:2] + [skipped] + lines[2:])
    assert found["status"] == "unmet"
    assert "model.language_model.mtp.fc.weight" in found["reason"]
    assert found["observed"]["class"] == DRAFT, "its name says nothing of its tensors"
    assert "skip loading" in found["evidence"][0]["line"]
    assert "checkpoint" in found["remedy"]


def test_the_draft_may_be_the_target_checkpoint_itself():
    path = "'/shared/models/Qwen3.5-122B-A10B'"
    lines = start_lines(ranks=1, model_path=path, speculative_draft_model_path=path)
    assert judged(lines)["status"] == "met"
