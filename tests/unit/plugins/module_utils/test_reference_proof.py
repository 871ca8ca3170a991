# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import prompts
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output
from ansible_collections.llmops.sglang.plugins.module_utils.generation import Completion
from ansible_collections.llmops.sglang.plugins.module_utils.reference_file import Reference
from ansible_collections.llmops.sglang.plugins.module_utils.reference_proof import (
    compare_with_reference,
    judge_reference,
    settled_answers,
)

SETTLED = [prompt for prompt in (prompts.COPY, *prompts.OTHERS) if prompt.settled]
FREE = [prompt for prompt in prompts.OTHERS if not prompt.settled]


def answer(tokens, parts_at=None):
    words = ["w%d" % number if parts_at is None or number < parts_at else "x%d" % number for number in range(tokens)]
    return Output(" ".join(words), tuple(hash(word) for word in words), tokens, "length")


def completion(prompt, output):
    return Completion(prompt, "200", 0.1, output)


def reference(*asked, tokens=128):
    return Reference("model", "0.5.12", {}, {prompt.text: answer(tokens) for prompt in asked})


def judge(completions, recorded, minimum=16, before="model", now="model"):
    return judge_reference(compare_with_reference(completions, recorded), minimum, before, now)


def test_equal_answers_agree():
    completions = [completion(prompt, answer(128)) for prompt in SETTLED]
    comparison = compare_with_reference(completions, reference(*SETTLED))
    assert (comparison.compared, comparison.matching_tokens, comparison.differences) == (len(SETTLED), 128, [])
    assert judge(completions, reference(*SETTLED)).status == "proven"


@pytest.mark.parametrize("parts_at, status", [(0, "refuted"), (15, "refuted"), (16, "proven"), (100, "proven")])
def test_an_answer_must_agree_as_far_as_asked(parts_at, status):
    completions = [completion(SETTLED[0], answer(128)), completion(SETTLED[1], answer(128, parts_at))]
    comparison = compare_with_reference(completions, reference(*SETTLED))
    assert comparison.matching_tokens == parts_at
    (difference,) = comparison.differences
    assert (difference["prompt"], difference["at_token"]) == (SETTLED[1].name, parts_at)
    finding = judge(completions, reference(*SETTLED))
    assert finding.status == status
    assert str(parts_at) in finding.sentence


def test_both_texts_are_shown_where_they_part():
    finding = judge([completion(SETTLED[0], answer(128, 3))], reference(SETTLED[0]))
    assert "w2 w3" in finding.sentence
    assert "w2 x3" in finding.sentence


def test_a_short_answer_that_is_the_same_to_its_end_agrees():
    recorded = dataclasses.replace(reference(), answers={SETTLED[0].text: answer(4)})
    assert judge([completion(SETTLED[0], answer(4))], recorded).status == "proven"


def test_with_0_tokens_a_difference_is_reported_and_not_judged():
    completions = [completion(SETTLED[0], answer(128, 0))]
    assert judge(completions, reference(SETTLED[0]), minimum=0).status == "proven"
    assert compare_with_reference(completions, reference(SETTLED[0])).differences


def test_only_settled_prompts_are_compared_and_their_first_answers_only():
    completions = [
        completion(SETTLED[0], answer(128)),
        completion(FREE[0], answer(128, 0)),
        completion(SETTLED[0], answer(128, 0)),
        Completion(SETTLED[1], "timeout", 1.0, error="no answer"),
    ]
    assert settled_answers(completions) == {SETTLED[0]: answer(128)}
    comparison = compare_with_reference(completions, reference(*SETTLED, *FREE))
    assert (comparison.compared, comparison.differences) == (1, [])


def test_a_recording_of_other_prompts_leaves_it_open():
    finding = judge([completion(SETTLED[0], answer(128))], reference(SETTLED[1]))
    assert finding.status == "inconclusive"
    assert "record it again" in finding.sentence


def test_a_recording_of_another_model_leaves_it_open():
    finding = judge(
        [completion(SETTLED[0], answer(128, 0))], reference(SETTLED[0]), before="/models/a", now="/models/b"
    )
    assert finding.status == "inconclusive"
    assert "/models/a" in finding.sentence
    assert "/models/b" in finding.sentence


def test_an_unknown_model_is_no_other_model():
    assert (
        judge([completion(SETTLED[0], answer(128))], reference(SETTLED[0]), before="/models/a", now="").status
        == "proven"
    )
