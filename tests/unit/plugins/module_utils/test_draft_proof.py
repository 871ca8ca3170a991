# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import draft_proof
from ansible_collections.llmops.sglang.plugins.module_utils.acceptance import Acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.draft_proof import Drafts

# What real 0.5.23 servers showed for 64 tokens with 3 drafts in a step, by their draft checkpoint.
REAL = {
    "right": (Acceptance(64, 16, 48, 48), "proven"),
    "right for most tokens": (Acceptance(64, 20, 43, 60), "proven"),
    "of another model": (Acceptance(64, 63, 0, 189), "refuted"),
    "without any mtp tensor": (Acceptance(64, 61, 2, 183), "refuted"),
    "tensors under another name": (Acceptance(64, 59, 4, 177), "refuted"),
}


def judge(counts, tokens=64, minimum=1.3, source="generate"):
    return draft_proof.judge_drafts(Drafts(counts.length, source, counts), tokens, minimum, None)


@pytest.mark.parametrize("checkpoint", REAL)
def test_real_draft_checkpoints_are_told_apart_by_their_counts(checkpoint):
    counts, verdict = REAL[checkpoint]
    finding = judge(counts)
    assert finding.status == verdict
    assert "%d of %d drafts" % (counts.correct, counts.proposed) in finding.sentence


@pytest.mark.parametrize("checkpoint", REAL)
def test_they_are_told_apart_by_the_accept_length_where_a_release_has_no_counts(checkpoint):
    counts, verdict = REAL[checkpoint]
    assert judge(Acceptance(counts.tokens, counts.verify_steps)).status == verdict


def test_a_short_answer_of_garbage_is_refuted_by_its_counts_though_its_length_looks_well():
    # 4 answers of 16 tokens: with the prefill's token the length is 1.33, and no draft was right.
    counts = Acceptance(64, 48, 0, 144)
    assert counts.length > 1.3
    assert judge(counts).status == "refuted"


def test_a_refuted_head_is_told_its_likely_causes():
    sentence = judge(Acceptance(64, 63, 0, 189)).sentence
    for cause in ("dropped", "another model", "quantised", "EAGLE3"):
        assert cause in sentence


@pytest.mark.parametrize("correct, status", [(9, "refuted"), (10, "proven")])
def test_the_share_that_is_needed_is_that_of_the_accept_length(correct, status):
    counts = Acceptance(70, 33, correct, 100)
    assert round(draft_proof.needed_share(counts, 1.3), 3) == 0.099
    assert judge(counts, tokens=70).status == status


def test_more_can_be_asked_for():
    assert judge(Acceptance(64, 20, 43, 60), minimum=3.5).status == "refuted"


def test_few_tokens_prove_nothing():
    finding = judge(Acceptance(8, 2, 6, 6), tokens=8)
    assert finding.status == "inconclusive"
    assert "8 tokens" in finding.sentence


@pytest.mark.parametrize("length, status", [(2.5, "proven"), (1.02, "refuted")])
def test_the_servers_own_figure_is_judged_where_answers_show_none(length, status):
    finding = draft_proof.judge_drafts(Drafts(length, "server_info"), 768, 1.3, {"speculative_algorithm": "EAGLE"})
    assert finding.status == status
    assert "server_info" in finding.sentence


def test_a_server_without_speculation_is_refuted_by_its_own_word():
    finding = draft_proof.judge_drafts(Drafts(), 768, 1.3, {"speculative_algorithm": None})
    assert finding.status == "refuted"
    assert "without speculation" in finding.sentence


@pytest.mark.parametrize("info", [None, {}, {"speculative_algorithm": "EAGLE"}])
def test_no_figures_anywhere_leave_it_open(info):
    assert draft_proof.judge_drafts(Drafts(), 768, 1.3, info).status == "inconclusive"


def test_figures_come_from_the_answers_then_from_the_server_then_from_its_metrics():
    answers = [types.SimpleNamespace(accepted=Acceptance(64, 16, 48, 48))]
    silent = [types.SimpleNamespace(accepted=None)]
    info = {"avg_spec_accept_length": 2.0}
    metrics = 'sglang:spec_accept_length{tp_rank="0"} 3.0'
    assert draft_proof.find_drafts(answers, info, metrics).source == "generate"
    assert draft_proof.find_drafts(answers, info, metrics).accept_length == 4.0
    assert draft_proof.find_drafts(silent, info, metrics) == Drafts(2.0, "server_info")
    assert draft_proof.find_drafts(silent, None, metrics) == Drafts(3.0, "metrics")
    assert draft_proof.find_drafts(silent, {}, "") == Drafts()
