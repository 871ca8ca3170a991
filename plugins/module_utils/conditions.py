# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts and expectations to five conditions and one verdict. No I/O.

A condition is ``met``, ``unmet``, ``no_evidence`` or ``not_applicable``; a verdict ``proven``, ``refuted`` or
``inconclusive``. What could not be seen is neither on nor off.
"""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import draft_model, redaction, remedies
from ansible_collections.llmops.sglang.plugins.module_utils.case import Case
from ansible_collections.llmops.sglang.plugins.module_utils.dialects import (
    ALGORITHM,
    DRAFT,
    MAMBA,
    MAMBA_FIELDS,
    MEMORY,
    OVERLAP,
    resolved_algorithm,
)
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import shorten
from ansible_collections.llmops.sglang.plugins.module_utils.expectations import ExpectationError, Expectations
from ansible_collections.llmops.sglang.plugins.module_utils.finding import (
    MET,
    NO_EVIDENCE,
    NOT_APPLICABLE,
    UNMET,
    Finding,
)
from ansible_collections.llmops.sglang.plugins.module_utils.observed_field import SAME_FLOAT, observe
from ansible_collections.llmops.sglang.plugins.module_utils.release import find_release
from ansible_collections.llmops.sglang.plugins.module_utils.verdict import conclude, discriminates

__all__ = ("CONDITIONS", "ExpectationError", "Expectations", "Judgement", "judge")

CONDITIONS = (ALGORITHM, MAMBA, OVERLAP, DRAFT, MEMORY)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What the facts of one start say about the expectations.

    ``conditions`` is a list of dicts in the order of :data:`CONDITIONS`: ``name``, ``status``, ``expected``,
    ``observed``, ``evidence``, ``reason``, ``discriminates``, ``remedy``. ``decided``: further log lines can't change
    the verdict, so nobody needs to wait for them. ``release`` is ``{"version", "at_least", "at_most", "how"}``. Nothing
    in here holds a secret.
    """

    verdict: str
    reason: str
    conditions: list
    decided: bool
    release: dict


def judge(facts, expectations, *, instance="unknown", release=None, http_fields=None, http_ready=False, gap=""):
    """Judge one start.

    :arg facts: a :class:`facts.StartFacts`.
    :arg expectations: an :class:`Expectations`.
    :arg instance: ``alive``, ``dead``, ``replaced`` (by another start of the unit) or ``unknown`` (a log file).
    :arg release: a version (``"0.5.12"``) or ``{"version", "how"}`` from an option or from metadata.
    :arg http_fields: the JSON of ``/server_info``; ``http_ready``: HTTP has shown that the server is past its warm-up.
    :arg gap: why log lines may be missing, as far as the reader of the log knows: a sentence without full stop.
    :returns: a :class:`Judgement`. Never raises, whatever the log has shown.
    """
    http_fields = http_fields if isinstance(http_fields, dict) else {}
    facts.redactor.learn_structure(http_fields)
    found = find_release(facts, release, http_fields)
    case = Case(facts, expectations, instance, found, http_fields, bool(http_ready), gap)
    findings = {name: JUDGES[name](case) for name in CONDITIONS}
    verdict, reason, decided = conclude(case, findings)
    if facts.starts > 1:
        reason += " (of %d starts in this log the last one is judged)" % facts.starts
    return Judgement(
        verdict,
        facts.redactor.redact(reason),
        [_condition(case, name, finding) for name, finding in findings.items()],
        decided,
        redaction.redact_structure(found.summary(), facts.redactor),
    )


def _condition(case, name, finding):
    redactor = case.facts.redactor
    return {
        "name": name,
        "status": finding.status,
        "expected": finding.expected,
        "observed": redaction.redact_structure(_bounded(finding.observed), redactor),
        "evidence": [evidence.shown(redactor) for evidence in finding.evidence],
        "reason": redactor.redact(finding.reason),
        "discriminates": discriminates(case, name),
        "remedy": redactor.redact(remedies.of_condition(case, name, finding)) if finding.status == UNMET else "",
    }


def _bounded(value):
    return shorten(value) if isinstance(value, str) else value


def _algorithm(case):
    expected = case.expectations.speculative_algorithm
    if expected is None:
        return Finding.not_asserted()
    shown = _one_or_list(expected)
    seen = observe(case, (ALGORITHM,))
    if seen.status:
        return seen.finding(shown)
    accepted = [resolved_algorithm(name) for name in expected]
    if seen.value == "FROZEN_KV_MTP" and "EAGLE" in accepted and seen.value not in accepted:
        return _promoted_algorithm(case, shown, seen)
    if seen.value in accepted:
        return Finding(MET, shown, seen.value, seen.evidence, "the server speculates with %s" % seen.value)
    if seen.value is None:
        return Finding(UNMET, shown, None, seen.evidence, "the server runs without speculation")
    return Finding(UNMET, shown, seen.value, seen.evidence, "the server speculates with %s" % (seen.value,))


def _promoted_algorithm(case, shown, seen):
    """NEXTN with a Gemma 4 assistant as draft is printed as FROZEN_KV_MTP (0.5.12 and later)."""
    classes = set(case.expectations.draft_model_class or ()) | draft_model.classes_seen(case.facts)
    if case.facts.promoted or classes and all("Assistant" in name for name in classes):
        reason = "NEXTN with a Gemma 4 assistant as draft is FROZEN_KV_MTP"
        return Finding(MET, shown, seen.value, seen.evidence, reason)
    if classes:
        reason = "the server speculates with FROZEN_KV_MTP, which NEXTN becomes with a Gemma 4 assistant only"
        return Finding(UNMET, shown, seen.value, seen.evidence, reason)
    reason = "FROZEN_KV_MTP is what NEXTN becomes with a Gemma 4 assistant, but no draft model was seen yet"
    return Finding(NO_EVIDENCE, shown, seen.value, seen.evidence, reason)


def _mamba(case):
    expected = case.expectations.mamba_strategy
    if expected is None:
        return Finding.not_asserted()
    shown = _one_or_list(expected)
    seen = observe(case, MAMBA_FIELDS)
    if seen.status == NO_EVIDENCE and seen.absent and not any(row.mamba_field for row in case.release.rows):
        reason = "%s has no Mamba strategy: the setting came with 0.5.7" % case.release.label
        return Finding(NOT_APPLICABLE, shown, None, [], reason)
    if seen.status:
        return seen.finding(shown)
    if seen.value in expected:
        return Finding(MET, shown, seen.value, seen.evidence, "the Mamba strategy is %s" % seen.value)
    reason = "the Mamba strategy is %s" % (seen.value,)
    if seen.value == "auto":
        reason = "the Mamba strategy is auto still: with the radix cache off the server never decides on one"
    return Finding(UNMET, shown, seen.value, seen.evidence, reason)


def _overlap(case):
    expected = case.expectations.disable_overlap_schedule
    if expected is None:
        return Finding.not_asserted()
    seen = observe(case, (OVERLAP,))
    if seen.status:
        return seen.finding(expected)
    state = "off" if seen.value else "on"
    if seen.value is expected:
        return Finding(MET, expected, seen.value, seen.evidence, "the overlap schedule is %s" % state)
    evidence = seen.evidence + [case.facts.notices[code] for code in ("overlap_off",) if code in case.facts.notices]
    return Finding(UNMET, expected, seen.value, evidence, "the overlap schedule is %s" % state)


def _memory(case):
    expected = case.expectations.mem_fraction_static
    if expected is None:
        return Finding.not_asserted()
    seen = observe(case, (MEMORY,))
    if seen.status:
        return seen.finding(expected)
    if not isinstance(seen.value, (int, float)) or isinstance(seen.value, bool):
        reason = "mem_fraction_static is %s, which is no number" % (seen.value,)
        return Finding(UNMET, expected, seen.value, seen.evidence, reason)
    tolerance = case.expectations.mem_fraction_tolerance
    difference = abs(seen.value - expected)
    if difference <= tolerance + SAME_FLOAT:
        reason = "mem_fraction_static is %s, within %s of %s" % (seen.value, tolerance, expected)
        return Finding(MET, expected, seen.value, seen.evidence, reason)
    reason = "mem_fraction_static is %s, which differs from %s by more than %s" % (seen.value, expected, tolerance)
    return Finding(UNMET, expected, seen.value, seen.evidence, reason)


def _draft(case):
    return draft_model.judge_draft(case) if case.expectations.draft_model else Finding.not_asserted()


JUDGES = {ALGORITHM: _algorithm, MAMBA: _mamba, OVERLAP: _overlap, DRAFT: _draft, MEMORY: _memory}


def _one_or_list(names):
    return names[0] if len(names) == 1 else list(names)
