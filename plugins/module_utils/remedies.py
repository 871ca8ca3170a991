# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator does about an unmet condition, in the words of the release that runs."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import dialects
from ansible_collections.llmops.sglang.plugins.module_utils.dialects import ALGORITHM, DRAFT, MAMBA, MEMORY, OVERLAP

ADD_SPECULATION = (
    "Start the server with --speculative-algorithm NEXTN and --speculative-draft-model-path, and check that the unit on"
    " disk is the one that runs (daemon-reload, restart)."
)


def of_condition(case, name, finding):
    """One or two sentences for an unmet condition."""
    if isinstance(finding.observed, dict) and "server_info" in finding.observed:
        return (
            "The log and the answer belong to different servers: check that the URL is this unit's own port, and that"
            " no second server runs on the node."
        )
    return REMEDIES[name](case, finding)


def extra_buffer(dialect):
    """How extra_buffer is asked for in a release."""
    words = "%s extra_buffer" % (dialect.mamba_flag or "a release with a Mamba strategy (0.5.7 or later)")
    return "%s%s" % (words, spec_v2_words(dialect))


def spec_v2_words(dialect):
    if dialect.spec_v2 == dialects.OFF_BY_DEFAULT:
        return " and SGLANG_ENABLE_SPEC_V2=1 in the unit's environment"
    return ""


def _algorithm(case, finding):
    if finding.observed is None:
        return ADD_SPECULATION
    asked = finding.expected if isinstance(finding.expected, str) else finding.expected[0]
    return "Set --speculative-algorithm %s, or expect %s if that is what you run." % (asked, finding.observed)


def _mamba(case, finding):
    dialect = case.release.dialect
    if finding.observed == "auto":
        return (
            "Remove --disable-radix-cache: with the radix cache off the strategy stays auto and has no effect. On a"
            " server that is meant to run without it, do not assert mamba_strategy."
        )
    asked = finding.expected if isinstance(finding.expected, str) else finding.expected[0]
    if dialect.mamba_strategies and asked not in dialect.mamba_strategies:
        return "%s has no strategy %s: it takes %s." % (case.release.label, asked, ", ".join(dialect.mamba_strategies))
    if not asked.startswith("extra_buffer"):
        return "Set %s %s." % (dialect.mamba_flag or "the Mamba strategy to", asked)
    default = " (without it the strategy is no_buffer)" if dialect.mamba_default == "no_buffer" else ""
    words = "Set %s%s. For a model that is no hybrid Mamba model, do not assert mamba_strategy."
    return words % (extra_buffer(dialect), default)


def _overlap(case, finding):
    dialect = case.release.dialect
    if finding.expected is True:
        return "Add --disable-overlap-schedule, or expect false."
    if dialect.spec_v2 == dialects.UNKNOWN_VARIABLE:
        return (
            "%s always turns the overlap schedule off with EAGLE: expect true, or upgrade to 0.5.11 or later."
            % case.release.label
        )
    advice = ["Remove --disable-overlap-schedule"]
    if dialect.mamba_flag:
        advice.append("set %s on a hybrid Mamba model" % extra_buffer(dialect))
    elif dialect.spec_v2 == dialects.OFF_BY_DEFAULT:
        advice.append("set%s" % spec_v2_words(dialect).replace(" and", "", 1))
    if dialect.spec_v2 == dialects.ON_BY_DEFAULT:
        advice.append("remove SGLANG_ENABLE_SPEC_V2 from the environment")
    if dialect.overlap_needs_topk_one:
        advice.append("keep --speculative-eagle-topk at 1")
    return "; ".join(advice) + "."


def _draft(case, finding):
    facts = case.facts
    if facts.skipped_tensors:
        return (
            "The checkpoint of the draft model does not fit what this release loads: use the one that belongs to the"
            " target and to this quantization, or a newer release."
        )
    if facts.banner and facts.banner.get(ALGORITHM, "") is None:
        return ADD_SPECULATION
    observed = finding.observed or {}
    if not observed.get("ranks"):
        return (
            "Set --speculative-draft-model-path to the checkpoint with the MTP head, and check that its config.json"
            " names the target's architecture: %s derives the draft's class from it." % case.release.label
        )
    if observed.get("ranks") != (finding.expected or {}).get("ranks"):
        return "Look at the log of the missing ranks, and restart all ranks of the group together."
    return (
        "The figure is free memory before minus after the load, so other processes on the GPU disturb it: free the GPU"
        " and start again, or correct draft_memory_gb for this draft model."
    )


def _memory(case, finding):
    words = "Set --mem-fraction-static %s: without the flag the server chooses" % finding.expected
    surcharge = case.release.dialect.surcharge_gb
    if surcharge:
        return "%s, and takes %d GiB off for speculation." % (words, surcharge)
    return "%s, and %s takes nothing off for speculation." % (words, case.release.label)


REMEDIES = {ALGORITHM: _algorithm, MAMBA: _mamba, OVERLAP: _overlap, DRAFT: _draft, MEMORY: _memory}
