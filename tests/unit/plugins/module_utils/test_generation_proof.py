# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import prompts
from ansible_collections.llmops.sglang.plugins.module_utils.acceptance import Acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output
from ansible_collections.llmops.sglang.plugins.module_utils.generation import Completion
from ansible_collections.llmops.sglang.plugins.module_utils.generation_proof import (
    Evidence,
    Wishes,
    judge,
    option_problem,
)
from ansible_collections.llmops.sglang.plugins.module_utils.reference_file import Reference

MTP = {"speculative_algorithm": "EAGLE", "model_path": "/models/target", "version": "0.5.12"}
PLAIN = dict(MTP, speculative_algorithm=None)


WELL = Acceptance(128, 40, 87, 120)


def completion(prompt, accepted=WELL, tokens=128, salt=""):
    words = ["%s%s%d" % (prompt.name, salt, number) for number in range(tokens)]
    output = Output(" ".join(words), tuple(hash(word) for word in words), tokens, "length")
    return Completion(prompt, "200", 0.5, output, accepted)


def failed(prompt, state, error="it failed"):
    return Completion(prompt, state, 60.0, error=error)


def run(accepted=WELL):
    return [completion(prompt, accepted) for round_ in prompts.plan(6) for prompt in round_]


def judged(completions, info=None, wishes=None, **evidence):
    return judge(Evidence(completions, MTP if info is None else info, **evidence), wishes or Wishes())


def test_a_server_that_generates_and_accepts_drafts_is_proven():
    proof = judged(run())
    assert proof.verdict == "proven"
    assert "768 tokens" in proof.reason
    assert "522 of 720 drafts" in proof.reason
    assert (proof.drafts.accept_length, proof.drafts.source) == (3.2, "generate")


def test_a_server_whose_drafts_are_never_right_is_refuted():
    proof = judged(run(Acceptance(128, 127, 0, 381)))
    assert proof.verdict == "refuted"
    assert "0 of 2286 drafts" in proof.reason
    assert "768 tokens" not in proof.reason


def test_the_server_before_the_change_is_proven_without_speculation():
    completions = run(accepted=None)
    assert judged(completions, PLAIN).verdict == "refuted"
    proof = judged(completions, PLAIN, Wishes(expect_speculation=False))
    assert proof.verdict == "proven"
    assert proof.drafts.accept_length is None


def test_without_any_figure_it_stays_open():
    assert judged(run(accepted=None)).verdict == "inconclusive"


@pytest.mark.parametrize("state", ["timeout", "reset", "refused", "500", "503", "garbled"])
def test_a_request_that_the_server_fails_refutes(state):
    completions = run()
    completions[2] = failed(completions[2].prompt, state, "it hangs")
    proof = judged(completions)
    assert proof.verdict == "refuted"
    assert "1 of 6 requests failed: it hangs" in proof.reason
    assert repr(completions[2].prompt.name) in proof.reason


@pytest.mark.parametrize("state", ["401", "403", "404", "400", "tls", "unreachable"])
def test_a_request_that_was_not_let_in_says_nothing_about_the_server(state):
    assert judged([failed(prompts.COPY, state)], {}).verdict == "inconclusive"


def test_a_wrong_key_is_said_as_such():
    reason = judged([failed(prompts.COPY, "401", "it answered 401 (Unauthorized)")], {}).reason
    assert "401" in reason
    assert "api_key" in reason
    assert "--admin-api-key" in reason


def test_a_server_that_fails_outweighs_a_request_that_was_not_let_in():
    completions = run()
    completions[1] = failed(completions[1].prompt, "400", "too long")
    assert judged(completions).verdict == "inconclusive"
    completions[3] = failed(completions[3].prompt, "reset", "it hung up")
    proof = judged(completions)
    assert proof.verdict == "refuted"
    assert "it hung up" in proof.reason


def test_the_same_prompt_must_give_the_same_tokens():
    completions = run()
    completions[-1] = completion(prompts.COPY, salt="'")
    proof = judged(completions)
    assert proof.verdict == "refuted"
    assert "part after 0 tokens" in proof.reason


def test_empty_answers_are_refuted():
    empty = [completion(prompt, None, tokens=0) for round_ in prompts.plan(6) for prompt in round_]
    proof = judged(empty, wishes=Wishes(expect_speculation=False))
    assert proof.verdict == "refuted"
    assert "nothing" in proof.reason


def test_one_token_over_and_over_is_garbage():
    babble = Output("!" * 64, (0,) * 64, 64, "length")
    completions = [dataclasses.replace(one, output=babble) for one in run()]
    proof = judged(completions)
    assert proof.verdict == "refuted"
    assert "garbage" in proof.reason


def test_one_answer_of_one_token_over_and_over_is_a_matter_of_taste():
    completions = run()
    completions[3] = dataclasses.replace(completions[3], output=Output("!" * 64, (0,) * 64, 64, "length"))
    assert judged(completions).verdict == "proven"


def test_an_output_that_changed_is_refuted_and_one_that_did_not_is_proven():
    answers = {one.prompt.text: one.output for one in run()}
    reference = Reference("/models/target", "0.5.12", {}, answers)
    proof = judged(run(), reference=reference)
    assert proof.verdict == "proven"
    assert (proof.comparison.compared, proof.comparison.matching_tokens) == (3, 128)
    changed = [completion(one.prompt, salt="'") for one in run()]
    proof = judged(changed, reference=reference)
    assert proof.verdict == "refuted"
    assert "The output has changed: 3 of 3" in proof.reason


def test_a_server_that_does_not_answer_is_not_judged_by_what_it_did_not_say():
    reference = Reference("/models/target", "0.5.12", {}, {})
    proof = judged([failed(prompts.COPY, "refused", "nothing listens on the port")], {}, reference=reference)
    assert proof.verdict == "refuted"
    assert proof.reason.startswith("1 of 1 requests failed: nothing listens on the port")


GOOD = {
    "requests": 6,
    "concurrency": 4,
    "max_tokens": 128,
    "deadline": 120.0,
    "min_accept_length": 1.3,
    "min_matching_tokens": 16,
}


@pytest.mark.parametrize(
    "name, value",
    [
        ("requests", 1),
        ("concurrency", 0),
        ("max_tokens", 0),
        ("deadline", 0.0),
        ("min_accept_length", 1.0),
        ("min_matching_tokens", -1),
    ],
)
def test_an_option_that_makes_no_sense_is_named(name, value):
    assert option_problem(dict(GOOD, **{name: value})).startswith("%s is" % name)
    assert option_problem(GOOD) == ""
