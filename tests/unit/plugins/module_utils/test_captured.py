# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every captured log: its verdict, its conditions, its release and its diagnosis."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import diagnosis
from ansible_collections.llmops.sglang.tests.unit.starts import (
    CAPTURED,
    DRAFT,
    REFERENCE,
    captured,
    condition,
    facts_of,
    judgement_of,
)

NAMES = ("speculative_algorithm", "mamba_strategy", "disable_overlap_schedule", "draft_model", "mem_fraction_static")
STATUS = {"+": "met", "-": "unmet", "?": "no_evidence", "0": "not_applicable"}


@dataclasses.dataclass(frozen=True)
class Case:
    """``statuses``: the five conditions in order, + met, - unmet, ? no evidence, 0 not applicable."""

    release: str
    statuses: str
    verdict: str
    diagnosis: tuple = ()
    expect: dict = dataclasses.field(default_factory=lambda: REFERENCE)


# What a CPU server can show: no Mamba strategy, no memory to speak of, one or two ranks.
ON_CPU = {
    "speculative_algorithm": "NEXTN",
    "draft_model_class": DRAFT,
    "draft_memory_gb": 0.0,
    "mem_fraction_static": 0.1,
}
SPEC_V2 = ("environment_without_effect",)

CASES = {
    # The log ends with the banner: nothing of the draft model is seen, so none of these can be proven.
    "0.5.9-nextn": Case("0.5.9", "+++?-", "refuted"),
    "0.5.9-nextn-noenv-nostrategy": Case("0.5.9", "+--?-", "refuted"),
    "0.5.9-nospec": Case("0.5.9", "-----", "refuted"),
    "0.5.10-nextn": Case("0.5.10", "+++?+", "inconclusive"),
    "0.5.10-nextn-noenv-extrabuffer": Case("0.5.10", "++-?+", "refuted"),
    "0.5.10-nextn-noenv-nostrategy": Case("", "?????", "refuted", ("radix_cache_against_no_buffer",)),
    "0.5.12-nextn": Case("0.5.12", "+++?+", "inconclusive"),
    "0.5.12-nextn-topk4": Case("0.5.12", "++-?+", "refuted"),
    "0.5.12-nospec": Case("0.5.12", "-----", "refuted"),
    "0.5.14-nextn": Case("0.5.14", "+++?-", "refuted", SPEC_V2),
    "0.5.14-nospec": Case("0.5.14", "-++--", "refuted"),
    "0.5.18-nextn": Case("0.5.18", "+++?-", "refuted", SPEC_V2),
    "0.5.18-nospec": Case("0.5.18", "-++--", "refuted"),
    "0.5.19-nextn": Case("0.5.19", "+++?-", "refuted", SPEC_V2),
    "0.5.19-nospec": Case("0.5.19", "-++--", "refuted"),
    "0.5.23-nextn": Case("0.5.23", "+++?-", "refuted"),
    "0.5.23-nextn-disable-overlap": Case("0.5.23", "+--?-", "refuted"),
    "0.5.23-nextn-quotes-apikey": Case("0.5.23", "+++?+", "inconclusive"),
    "0.5.23-nospec": Case("0.5.23", "-++--", "refuted"),
    # Whole runs.
    "0.5.12-realserver-cpu-nospec": Case("0.5.12", "-00-+", "refuted", (), ON_CPU),
    "0.5.12-realserver-nextn-crash-after-draft-load": Case(
        "0.5.12", "+00++", "refuted", ("scheduler_exception",), ON_CPU
    ),
    "0.5.18-realserver-nextn": Case("0.5.18", "+00++", "proven", (), ON_CPU),
    "0.5.23-realserver-cpu-nextn": Case("0.5.23", "+00++", "proven", (), ON_CPU),
    "0.5.23-realserver-nextn-tp2-keys": Case("0.5.23", "+00++", "proven", (), ON_CPU),
    # Each node of a group shows its own ranks, and only node 0 says that it is ready.
    "0.5.23-realserver-two-nodes-0": Case("0.5.23", "+00++", "proven", (), ON_CPU),
    "0.5.23-realserver-two-nodes-1": Case("0.5.23", "+00++", "proven", (), ON_CPU),
    "0.5.23-realserver-node-lost": Case("0.5.23", "+00++", "refuted", ("distributed_timeout",), ON_CPU),
    "0.5.23-realserver-nodes-missing": Case("0.5.23", "+00?+", "refuted", ("distributed_timeout",), ON_CPU),
    "0.5.23-realserver-draft-missing": Case("", "?00??", "refuted", ("draft_path_missing",), ON_CPU),
}


def test_every_captured_log_has_its_case():
    assert {path.stem for path in CAPTURED.glob("*.log")} == set(CASES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_captured_log(name):
    case = CASES[name]
    facts = facts_of(captured(name))
    judgement = judgement_of(facts, case.expect)
    assert {one["name"]: one["status"] for one in judgement.conditions} == {
        name: STATUS[sign] for name, sign in zip(NAMES, case.statuses)
    }
    assert judgement.verdict == case.verdict
    assert judgement.release["version"] == case.release
    assert tuple(cause["code"] for cause in diagnosis.diagnose(facts, judgement)) == case.diagnosis


@pytest.mark.parametrize("name", sorted(name for name in CASES if "nospec" in name))
@pytest.mark.parametrize("ready", [False, True])
def test_without_speculation_nothing_is_ever_proven(name, ready):
    """Whatever is expected, even exactly what the server shows, and even when it is up."""
    log = captured(name)
    if ready:
        log += "\n[2026-11-29 15:30:00] The server is fired up and ready to roll!"
    facts = facts_of(log)
    fields = facts.banner
    mamba = fields.get("mamba_scheduler_strategy", fields.get("mamba_radix_cache_strategy"))
    shown = {
        "mamba_strategy": mamba,
        "disable_overlap_schedule": fields.get("disable_overlap_schedule"),
        "mem_fraction_static": fields.get("mem_fraction_static"),
    }
    for expect in ({}, shown, REFERENCE, dict(shown, draft_ranks=1), {"speculative_algorithm": "NONE"}):
        for instance in ("alive", "unknown"):
            assert judgement_of(facts, expect, instance=instance).verdict != "proven"
    assert {one["status"] for one in judgement_of(facts, shown).conditions} == {"met", "not_applicable"}


def test_what_the_captured_servers_show_of_the_draft_model():
    judgement = judgement_of(captured("0.5.23-realserver-nextn-tp2-keys"), ON_CPU)
    draft = condition(judgement, "draft_model")
    assert draft["expected"]["ranks"] == 2
    assert draft["observed"] == {"class": DRAFT, "ranks": 2, "memory_gb": [0.0, 0.0]}
    assert sorted(evidence["rank"] for evidence in draft["evidence"]) == ["TP0", "TP1"]
    assert all(evidence["cursor"].startswith("line ") for evidence in draft["evidence"])


def test_the_phases_of_a_captured_start():
    phases = facts_of(captured("0.5.23-realserver-nextn-tp2-keys")).phases()
    assert [(step["name"], step["elapsed"]) for step in phases] == [
        ("banner", 7.0),
        ("target_weights", 57.0),
        ("draft_weights", 58.0),
        ("memory_pool", 60.0),
        ("warm_up", 77.0),
        ("ready", 77.0),
    ]


@pytest.mark.parametrize(
    ("name", "secrets"),
    [("0.5.23-nextn-quotes-apikey", ["sk-secret"]), ("0.5.23-realserver-nextn-tp2-keys", ["userkey", "adminkey"])],
)
def test_the_keys_of_the_captured_servers_stay_with_them(name, secrets):
    facts = facts_of(captured(name))
    judgement = judgement_of(facts)
    said = repr((judgement, diagnosis.diagnose(facts, judgement), facts.redactor.redact(captured(name))))
    assert not [secret for secret in secrets if secret in said]


def test_all_captured_starts_in_one_log_are_told_apart():
    names = sorted(CASES)
    for last in ("0.5.23-realserver-cpu-nextn", "0.5.12-nospec", "0.5.23-realserver-draft-missing"):
        order = [name for name in names if name != last] + [last]
        judgement = judgement_of("\n".join(captured(name) for name in order), CASES[last].expect)
        assert judgement.verdict == CASES[last].verdict
        assert "".join(sign for sign in CASES[last].statuses) == "".join(
            next(sign for sign, status in STATUS.items() if status == one["status"]) for one in judgement.conditions
        )
