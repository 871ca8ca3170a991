# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A start that failed: what went wrong and what to do about it, in the order in which an operator would act."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import causes, dialects
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import shorten

# What the operator asked for first, then what the node lacks, then symptoms.
CODES = (
    "flag_unknown",
    "flag_removed",
    "flag_value_invalid",
    "radix_cache_against_no_buffer",
    "extra_buffer_without_radix_cache",
    "topk_against_spec_v2",
    "draft_path_missing",
    "model_path_missing",
    "architecture_without_mtp",
    "architecture_unknown",
    "draft_does_not_fit",
    "build_tool_missing",
    "port_in_use",
    "not_enough_memory",
    "out_of_memory",
    "killed_by_oom_killer",
    "distributed_timeout",
    "watchdog_timeout",
    "main_exception",
    "scheduler_exception",
    "killed",
    "child_died",
    "environment_without_effect",
    "start_limit_hit",
    "instance_replaced",
)
# These say that something died, not why.
SYMPTOMS = ("main_exception", "scheduler_exception", "killed", "child_died")
REPLACED = "Judge the instance that runs now; if nobody restarted the unit, read why the one before it ended."


def diagnose(facts, judgement, instance="unknown"):
    """Why a start failed.

    :arg facts: a :class:`facts.StartFacts`; :arg judgement: what ``conditions.judge`` said about it.
    :arg instance: ``alive``, ``dead``, ``replaced`` or ``unknown``.
    :returns: a list of ``{"code", "summary", "evidence", "remedy"}`` without secrets, at most one per code of
        :data:`CODES`; empty for a proven start.
    """
    if judgement.verdict == "proven":
        return []
    dialect = dialects.dialect_of(judgement.release["version"] or judgement.release["at_most"])
    found = _of_failures(facts, dialect, instance) + causes.of_unit(facts)
    found = _without_mere_symptoms(found) + causes.of_notices(facts)
    if instance == "replaced":
        found.append(causes.Cause("instance_replaced", "another start of the unit replaced this one", [], REPLACED))
    return [_shown(cause, facts.redactor) for cause in _in_order(found)]


def _of_failures(facts, dialect, instance):
    died = facts.fatal or facts.unit_exit or facts.unit_result or instance == "dead"
    explained = _explained(facts.failures, facts, dialect)
    if died and not explained:
        # A traceback of some other process may say why the main one went down.
        explained = _explained(facts.exceptions, facts, dialect)
    # Of several tracebacks the last one says most.
    return explained or [causes.of_unexplained(failure) for failure in reversed(facts.failures)]


def _explained(failures, facts, dialect):
    found = (causes.of_failure(failure, facts, dialect) for failure in failures)
    return [cause for cause in found if cause]


def _without_mere_symptoms(found):
    """A symptom is worth a line when no cause is known, and the plain death of a child when there is no traceback."""
    explained = [cause for cause in found if cause.code not in SYMPTOMS]
    if any(cause.code != "start_limit_hit" for cause in explained):
        return explained
    told = [cause for cause in found if cause.code not in ("child_died", "killed")]
    return told if any(cause.code in SYMPTOMS for cause in told) else found


def _in_order(found):
    first_of = {}
    for cause in found:
        first_of.setdefault(cause.code, cause)
    return sorted(first_of.values(), key=lambda cause: CODES.index(cause.code))


def _shown(cause, redactor):
    return {
        "code": cause.code,
        "summary": shorten(redactor.redact(cause.summary)),
        "evidence": [evidence.shown(redactor) for evidence in cause.evidence],
        "remedy": redactor.redact(cause.remedy),
    }
