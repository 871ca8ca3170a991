# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: is the output what it was before the change? Speculation is lossless, so that it should be."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import agreement
from ansible_collections.llmops.sglang.plugins.module_utils.conclusion import INCONCLUSIVE, PROVEN, REFUTED, Finding


@dataclasses.dataclass(frozen=True)
class Comparison:
    """``matching_tokens`` is that of the answer that parts first, the fewest if none does; ``None`` for none compared.

    ``differences`` are dicts with ``prompt``, ``at_token``, ``expected`` and ``got``, the earliest first.
    """

    compared: int
    matching_tokens: int | None
    differences: list

    def summary(self):
        return dataclasses.asdict(self)


def compare_with_reference(completions, reference):
    """The :class:`Comparison` of the settled prompts' first answers with a :class:`~reference_file.Reference`."""
    compared = [
        (prompt.name, agreement.compare(reference.answers[prompt.text], output))
        for prompt, output in settled_answers(completions).items()
        if prompt.text in reference.answers
    ]
    parted = sorted((one for one in compared if not one[1].whole), key=lambda one: one[1].tokens)
    tokens = [same.tokens for _name, same in parted or compared]
    return Comparison(
        compared=len(compared),
        matching_tokens=min(tokens) if tokens else None,
        differences=[
            {"prompt": name, "at_token": same.tokens, "expected": same.expected, "got": same.got}
            for name, same in parted
        ],
    )


def settled_answers(completions):
    """The first answer to each settled prompt: a dict of :class:`~prompts.Prompt` to :class:`~agreement.Output`."""
    answers = {}
    for completion in completions:
        if completion.output and completion.prompt.settled:
            answers.setdefault(completion.prompt, completion.output)
    return answers


def judge_reference(comparison, min_matching_tokens, model_before, model_now):
    """The :class:`Finding`. ``min_matching_tokens`` 0 asserts nothing. Models are ``""`` where they are not known."""
    if model_before and model_now and model_before != model_now:
        return Finding(
            INCONCLUSIVE,
            f"The reference is of the model {model_before}, and this server serves {model_now}: record it again.",
        )
    if not comparison.compared:
        return Finding(INCONCLUSIVE, "The reference holds none of the prompts that were sent: record it again.")
    early = [one for one in comparison.differences if one["at_token"] < min_matching_tokens]
    if early:
        first = early[0]
        return Finding(
            REFUTED,
            f"The output has changed: {len(early)} of {comparison.compared} answers part from the recorded ones before"
            f" token {min_matching_tokens}. The prompt {first['prompt']!r} parts after {first['at_token']} tokens,"
            f" expected {first['expected']!r}, got {first['got']!r}.",
        )
    if comparison.differences:
        return Finding(
            PROVEN,
            f"{len(comparison.differences)} of {comparison.compared} answers part from the recorded ones, the first"
            f" after {comparison.matching_tokens} tokens, which min_matching_tokens {min_matching_tokens} allows.",
        )
    return Finding(PROVEN, f"All {comparison.compared} answers that were compared are those from before.")
