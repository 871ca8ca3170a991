# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Five findings to one verdict, and what it rests on."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import draft_model, missing_evidence
from ansible_collections.llmops.sglang.plugins.module_utils.dialects import (
    ALGORITHM,
    DRAFT,
    DRAFT_MODEL_ALGORITHMS,
    MAMBA,
    OVERLAP,
)
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import shorten
from ansible_collections.llmops.sglang.plugins.module_utils.finding import MET, NO_EVIDENCE, UNMET
from ansible_collections.llmops.sglang.plugins.module_utils.observed_field import observe

PROVEN = "proven"
REFUTED = "refuted"
INCONCLUSIVE = "inconclusive"


def discriminates(case, name):
    """Whether the asserted value tells a server with speculation from one without, in this release."""
    expectations = case.expectations
    if not case.release.discriminates(name):
        return False
    if name == MAMBA and expectations.mamba_strategy is not None:
        return all(value.startswith("extra_buffer") for value in expectations.mamba_strategy)
    return not (name == OVERLAP and expectations.disable_overlap_schedule is True)


def conclude(case, findings):
    """``(verdict, reason, decided)`` from the findings by condition; ``reason`` is a sentence without full stop."""
    asserted = {name: finding for name, finding in findings.items() if finding.asserted}
    unmet = [finding for finding in asserted.values() if finding.status == UNMET]
    unseen = [finding for finding in asserted.values() if finding.status == NO_EVIDENCE]
    contradiction = _counter_evidence(case) if asserted else ""
    settled = case.gone or not case.facts.traceback_open
    if case.died:
        return REFUTED, _why_it_died(case), settled
    if unmet:
        return REFUTED, _joined(unmet), True
    if contradiction:
        return REFUTED, contradiction, True
    if not asserted:
        return INCONCLUSIVE, "nothing was asserted, so nothing is proven", case.has_come_up
    if unseen:
        return INCONCLUSIVE, _joined(unseen), case.has_come_up
    if not case.has_come_up:
        return INCONCLUSIVE, missing_evidence.of_readiness(case), False
    grounds = _grounds(case, asserted)
    if not grounds:
        reason = "all that was asserted holds with and without speculation in %s" % case.release.label
        return INCONCLUSIVE, reason, True
    return PROVEN, "MTP speculative decoding is active, proven by: %s" % "; ".join(grounds), True


def _joined(findings):
    return "; ".join(dict.fromkeys(finding.reason for finding in findings))


def _grounds(case, asserted):
    """What tells this server from one without speculation: the strongest signs that there are."""
    met = [name for name, finding in asserted.items() if finding.status == MET and discriminates(case, name)]
    grounds = [asserted[name].reason for name in (DRAFT, ALGORITHM) if name in met]
    if case.facts.accept_lengths:
        grounds.append(_accepted(*case.facts.accept_lengths))
    elif _accept_length_answered(case):
        grounds.append("an accept length in the server's own answer")
    algorithm = observe(case, (ALGORITHM,))
    if grounds or algorithm.status or algorithm.value is None:
        return grounds
    return [asserted[name].reason for name in met]


def _accepted(low, high, lines):
    """An accept length counts the token that the target adds, so 1 means that no drafted token was accepted."""
    said = "accept lengths of %g to %g in %d decode lines" % (low, high, lines)
    return said + " (the server speculates, but so far without gain)" if high <= 1 else said


def _accept_length_answered(case):
    states = case.http_fields.get("internal_states")
    states = states if isinstance(states, list) else []
    states = [state for state in states if isinstance(state, dict)] + [case.http_fields]
    return any(isinstance(state.get("avg_spec_accept_length"), (int, float)) for state in states)


def _counter_evidence(case):
    """Positive signs that no speculation takes place, whatever else was asserted; ``""`` without any."""
    algorithm = observe(case, (ALGORITHM,))
    if not algorithm.status and algorithm.value is None:
        return "the server runs without speculation: speculative_algorithm is None"
    facts = case.facts
    if facts.plain_decode and not facts.accept_lengths:
        return "the server's decode lines carry no accept length, so its scheduler does not speculate"
    loads_draft = not algorithm.status and algorithm.value in DRAFT_MODEL_ALGORITHMS
    if loads_draft and case.has_come_up and draft_model.only_targets_seen(case):
        return "the server came up, and among the weights it loaded there is no draft model"
    return ""


def _why_it_died(case):
    facts = case.facts
    if case.instance == "replaced":
        return "the service instance was replaced by another start of its unit"
    if facts.ready and facts.stopping and not facts.fatal:
        return "the server was stopped after it was up"
    last = next((failure.text for failure in reversed(facts.failures) if failure.code == "exception"), "")
    last = last or (facts.failures[0].text if facts.failures else "")
    last = last or next((failure.text for failure in reversed(facts.exceptions)), "")
    if not last and facts.unit_result:
        last = "systemd says %s" % facts.unit_result[0].result
    elif not last and facts.unit_exit:
        last = "systemd says that the main process ended with status %s" % facts.unit_exit[0].status
    when = "after it was up" if facts.ready else "before it was up"
    when = when if facts.banner or facts.ready else "before it printed its arguments"
    return "the server died %s%s" % (when, ": " + shorten(last) if last else "")
