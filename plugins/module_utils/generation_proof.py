# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: the answers of a server ──▶ does it generate, are drafts accepted, is the output right."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import agreement, draft_proof, reference_proof, server_api
from ansible_collections.llmops.sglang.plugins.module_utils.conclusion import (
    INCONCLUSIVE,
    PROVEN,
    REFUTED,
    Finding,
    conclude,
)

# One token this often, and nothing else, is what a model says whose numbers have broken down.
TOKENS_OF_BABBLE = 16

# What keeps us from asking says nothing about the server.
NOT_ASKED = ("400", "401", "403", "404", "405", "422", server_api.TLS, server_api.UNREACHABLE)


@dataclasses.dataclass(frozen=True)
class Wishes:
    """What is asked for. ``min_matching_tokens`` 0 reports the agreement with a reference and asserts nothing."""

    min_accept_length: float = 1.3
    min_matching_tokens: int = 16
    expect_speculation: bool = True


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was seen.

    ``completions`` are :class:`~generation.Completion` in the order of :func:`prompts.plan`. ``server_info`` is
    ``None`` where the server did not show it, ``metrics`` the text of ``/metrics`` or ``""``, ``reference`` a
    :class:`~reference_file.Reference` or ``None``.
    """

    completions: list
    server_info: dict | None = None
    metrics: str = ""
    reference: object = None

    @property
    def model(self):
        return str((self.server_info or {}).get("model_path") or "")

    @property
    def version(self):
        return str((self.server_info or {}).get("version") or "")

    @property
    def tokens(self):
        return sum(completion.output.tokens for completion in self.completions if completion.output)


@dataclasses.dataclass(frozen=True)
class Proof:
    """``comparison`` is a :class:`~reference_proof.Comparison`, ``None`` without a reference."""

    verdict: str
    reason: str
    drafts: draft_proof.Drafts
    comparison: reference_proof.Comparison | None


def option_problem(options):
    """The first option of ``mtp_prove`` that makes no sense, as one sentence; ``""`` when all do."""
    if options["requests"] < 2:
        return f"requests is {options['requests']}: at least 2 are needed, since one prompt is sent twice."
    for name in ("concurrency", "max_tokens"):
        if options[name] < 1:
            return f"{name} is {options[name]}: give at least 1."
    if not options["deadline"] > 0:
        return f"deadline is {options['deadline']:g}: give a number of seconds above 0."
    if not options["min_accept_length"] > 1:
        return (
            f"min_accept_length is {options['min_accept_length']:g}: give a number above 1, which is the accept length"
            " without any correct draft, or set expect_speculation to false."
        )
    if options["min_matching_tokens"] < 0:
        return f"min_matching_tokens is {options['min_matching_tokens']}: give 0 or more."
    return ""


def judge(evidence, wishes):
    """The :class:`Proof` for an :class:`Evidence`."""
    completions, reference = evidence.completions, evidence.reference
    drafts = draft_proof.find_drafts(completions, evidence.server_info, evidence.metrics)
    comparison = reference_proof.compare_with_reference(completions, reference) if reference else None
    findings = [judge_answers(completions)]
    if any(completion.output for completion in completions):
        findings += [judge_content(completions), judge_repetition(completions)]
        if wishes.expect_speculation:
            findings.append(
                draft_proof.judge_drafts(drafts, evidence.tokens, wishes.min_accept_length, evidence.server_info)
            )
        if comparison:
            findings.append(
                reference_proof.judge_reference(comparison, wishes.min_matching_tokens, reference.model, evidence.model)
            )
    verdict, reason = conclude(findings)
    return Proof(verdict, reason, drafts, comparison)


def judge_answers(completions):
    """Whether every request was answered, each within its deadline."""
    failed = [completion for completion in completions if not completion.output]
    if not failed:
        tokens = sum(completion.output.tokens for completion in completions)
        return Finding(PROVEN, f"All {len(completions)} requests were answered, with {tokens} tokens.")
    broken = [completion for completion in failed if completion.state not in NOT_ASKED]
    worst = (broken or failed)[0]
    sentence = (
        f"{len(failed)} of {len(completions)} requests failed: {worst.error} (prompt {worst.prompt.name!r},"
        f" {worst.seconds:.1f} s)."
    )
    if worst.state == "401":
        sentence += " It wants the key of its --api-key, not that of --admin-api-key: give api_key or api_key_file."
    return Finding(REFUTED if broken else INCONCLUSIVE, sentence)


def judge_content(completions):
    """Whether the answers are text at all."""
    outputs = [completion.output for completion in completions if completion.output]
    if not any(output.tokens for output in outputs):
        return Finding(REFUTED, f"The server answers with nothing: not one token in {len(outputs)} answers.")
    if all(_is_babble(output) for output in outputs):
        sample = outputs[0].text[:20]
        return Finding(REFUTED, f"The answers are garbage: one token over and over, such as {sample!r}.")
    return None


def judge_repetition(completions):
    """The first prompt was sent alone, and once more at the end: its tokens must be the same."""
    first, last = completions[0], completions[-1]
    if len(completions) < 2 or first.prompt != last.prompt or not first.output or not last.output:
        return None
    same = agreement.compare(first.output, last.output)
    if same.whole:
        return Finding(PROVEN, f"The same prompt twice gave the same {same.tokens} tokens.")
    return Finding(
        REFUTED,
        f"The same prompt twice at temperature 0 gave two answers: they part after {same.tokens} tokens, first"
        f" {same.expected!r}, then {same.got!r}. Prefix cache and speculation do not go together on this server.",
    )


def _is_babble(output):
    return output.tokens >= TOKENS_OF_BABBLE and len(set(output.token_ids or output.text)) == 1
