# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import conditions
from ansible_collections.llmops.sglang.tests.unit.starts import (
    READY,
    REFERENCE,
    banner_text,
    condition,
    facts_of,
    judgement_of,
    load_line,
    log_line,
    records,
    start_lines,
    statuses,
)

DECODE = "Decode batch, #running-req: 1, #token: 31, %sgen throughput (token/s): 1.0, #queue-req: 0"
MEASURED = ("0.5.9", "0.5.10", "0.5.12", "0.5.14", "0.5.18", "0.5.19", "0.5.23")


def ready_log(version="0.5.12", **fields):
    return start_lines(version, **fields)


# ---- the reference deployment ----


@pytest.mark.parametrize("version", MEASURED)
def test_the_reference_is_proven_in_every_release(version):
    judgement = judgement_of(ready_log(version))
    assert judgement.verdict == "proven"
    assert set(statuses(judgement).values()) == {"met"}
    assert judgement.decided
    assert judgement.release["version"] == version
    assert "Qwen3_5ForCausalLMMTP was loaded on 4 ranks" in judgement.reason


def test_conditions_have_their_order_and_their_keys():
    judgement = judgement_of(ready_log())
    assert [condition["name"] for condition in judgement.conditions] == list(conditions.CONDITIONS)
    for one in judgement.conditions:
        assert list(one) == ["name", "status", "expected", "observed", "evidence", "reason", "discriminates", "remedy"]
        for evidence in one["evidence"]:
            assert list(evidence) == ["line", "timestamp", "rank", "cursor", "source"]


def test_evidence_is_the_part_of_the_line_that_matters():
    shown = condition(judgement_of(ready_log()), "mem_fraction_static")["evidence"]
    assert shown == [
        {
            "line": "server_args=…mem_fraction_static=0.75…",
            "timestamp": "",
            "rank": "",
            "cursor": "line 1",
            "source": "log",
        }
    ]


FLIPS = [
    ("speculative_algorithm", {"speculative_algorithm": "'EAGLE3'"}),
    ("mamba_strategy", {"mamba_scheduler_strategy": "'no_buffer'"}),
    ("disable_overlap_schedule", {"disable_overlap_schedule": "True"}),
    ("mem_fraction_static", {"mem_fraction_static": "0.85"}),
    ("draft_model", {"draft": "Qwen3_5ForCausalLM"}),
    ("draft_model", {"draft_ranks": 3}),
    ("draft_model", {"draft": ""}),
]


@pytest.mark.parametrize(("flipped", "changes"), FLIPS)
def test_flipping_one_condition_turns_exactly_that_one(flipped, changes):
    judgement = judgement_of(ready_log(**changes))
    assert judgement.verdict == "refuted"
    assert [name for name, status in statuses(judgement).items() if status != "met"] == [flipped]
    unmet = condition(judgement, flipped)
    assert unmet["status"] == "unmet"
    assert unmet["reason"] in judgement.reason
    assert unmet["remedy"].endswith(".")
    assert judgement.decided


def test_met_conditions_carry_no_remedy():
    assert {one["remedy"] for one in judgement_of(ready_log()).conditions} == {""}


# ---- what is asserted ----


@pytest.mark.parametrize("case", ["nextn", "nospec"])
def test_with_nothing_asserted_nothing_is_proven(case):
    judgement = judgement_of(ready_log(case=case), {})
    assert judgement.verdict == "inconclusive"
    assert "nothing was asserted" in judgement.reason
    assert set(statuses(judgement).values()) == {"not_applicable"}
    assert judgement.decided


@pytest.mark.parametrize("left_out", sorted(REFERENCE))
def test_a_key_that_is_left_out_is_not_asserted(left_out):
    expect = {key: value for key, value in REFERENCE.items() if key != left_out}
    judgement = judgement_of(ready_log(), expect)
    assert judgement.verdict == "proven"
    if left_out in conditions.CONDITIONS:
        assert statuses(judgement)[left_out] == "not_applicable"


def test_one_of_several_accepted_values_is_enough():
    expect = {"speculative_algorithm": ["EAGLE3", "NEXTN"], "mamba_strategy": ["extra_buffer", "extra_buffer_lazy"]}
    assert judgement_of(ready_log(), expect).verdict == "proven"


@pytest.mark.parametrize(
    ("version", "expect"),
    [
        ("0.5.9", {"mamba_strategy": "no_buffer"}),
        ("0.5.9", {"disable_overlap_schedule": True}),
        ("0.5.12", {"mamba_strategy": "no_buffer", "disable_overlap_schedule": True}),
        ("0.5.12", {"mem_fraction_static": 0.75}),
        ("0.5.14", {"mamba_strategy": "extra_buffer", "disable_overlap_schedule": False, "mem_fraction_static": 0.75}),
        ("0.5.23", {"mamba_strategy": "extra_buffer", "disable_overlap_schedule": False}),
    ],
)
def test_a_server_without_speculation_is_never_proven(version, expect):
    judgement = judgement_of(ready_log(version, case="nospec", draft=""), expect)
    assert set(statuses(judgement).values()) == {"met", "not_applicable"}
    assert judgement.verdict == "refuted"
    assert "without speculation" in judgement.reason


@pytest.mark.parametrize("version", ["0.5.14", "0.5.19", "0.5.23"])
def test_conditions_that_do_not_discriminate_prove_nothing(version):
    expect = {"mamba_strategy": "extra_buffer", "disable_overlap_schedule": False, "mem_fraction_static": 0.75}
    judgement = judgement_of(ready_log(version), expect)
    assert judgement.verdict == "inconclusive"
    assert "holds with and without speculation" in judgement.reason


@pytest.mark.parametrize("version", MEASURED)
def test_discrimination_by_release(version):
    discriminating = {one["name"] for one in judgement_of(ready_log(version)).conditions if one["discriminates"]}
    if version in ("0.5.9", "0.5.10", "0.5.12"):
        assert discriminating == set(conditions.CONDITIONS)
    else:
        assert discriminating == {"speculative_algorithm", "draft_model"}


def test_what_a_server_without_speculation_shows_too_does_not_discriminate():
    judgement = judgement_of(ready_log(), {"mamba_strategy": "no_buffer", "disable_overlap_schedule": True})
    assert not condition(judgement, "mamba_strategy")["discriminates"]
    assert not condition(judgement, "disable_overlap_schedule")["discriminates"]


def test_an_accept_length_is_proof_at_runtime():
    lines = ready_log("0.5.23") + [log_line(DECODE % "accept len: 2.71, accept rate: 0.57, ")]
    judgement = judgement_of(lines, {"mem_fraction_static": 0.75})
    assert judgement.verdict == "proven"
    assert "accept lengths of 2.71 to 2.71 in 1 decode lines" in judgement.reason


def test_decode_lines_without_an_accept_length_refute():
    judgement = judgement_of(ready_log() + [log_line(DECODE % "")])
    assert judgement.verdict == "refuted"
    assert "no accept length" in judgement.reason


# ---- the algorithm ----


def algorithm_judged(expected, printed, *more, **expect):
    lines = [log_line(banner_text(speculative_algorithm="'%s'" % printed))] + list(more)
    return condition(judgement_of(lines, dict(expect, speculative_algorithm=expected)), "speculative_algorithm")


@pytest.mark.parametrize("expected", ["NEXTN", "EAGLE", "nextn"])
def test_nextn_means_eagle(expected):
    assert algorithm_judged(expected, "EAGLE")["status"] == "met"


@pytest.mark.parametrize("expected", ["NEXTN", "EAGLE"])
def test_nextn_with_a_gemma_assistant_is_frozen_kv_mtp(expected):
    promotion = log_line(
        "Detected Gemma4AssistantForCausalLM draft; promoting --speculative-algorithm NEXTN to FROZEN_KV_MTP."
    )
    loads = [load_line("Gemma4ForCausalLM"), load_line("Gemma4AssistantForCausalLM")]
    assert algorithm_judged(expected, "FROZEN_KV_MTP", promotion)["status"] == "met"
    assert algorithm_judged(expected, "FROZEN_KV_MTP", *loads)["status"] == "met"
    assert algorithm_judged(expected, "FROZEN_KV_MTP")["status"] == "no_evidence"
    assert (
        algorithm_judged(expected, "FROZEN_KV_MTP", load_line(), load_line("Qwen3_5ForCausalLMMTP"))["status"]
        == "unmet"
    )


def test_another_algorithm_is_unmet():
    assert algorithm_judged("NEXTN", "NGRAM")["status"] == "unmet"
    assert algorithm_judged("FROZEN_KV_MTP", "EAGLE")["status"] == "unmet"


# ---- the Mamba strategy ----


def mamba_judged(version="0.5.12", text=None, **fields):
    lines = [log_line(text or banner_text(version, **fields))]
    return condition(judgement_of(lines, {"mamba_strategy": "extra_buffer"}), "mamba_strategy")


def test_both_names_of_the_field_are_read():
    assert mamba_judged("0.5.12")["status"] == mamba_judged("0.5.14")["status"] == "met"


def test_auto_is_no_pass_and_says_why():
    judged = mamba_judged("0.5.18", mamba_radix_cache_strategy="'auto'")
    assert (judged["status"], judged["observed"]) == ("unmet", "auto")
    assert "radix cache off" in judged["reason"]
    assert "--disable-radix-cache" in judged["remedy"]


def test_a_release_without_the_setting_is_not_judged_by_it():
    old = "server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE', disable_overlap_schedule=True%s)"
    judged = condition(
        judgement_of([log_line(old % "")], {"mamba_strategy": "extra_buffer"}, release="0.5.6"), "mamba_strategy"
    )
    assert judged["status"] == "not_applicable"
    assert "0.5.7" in judged["reason"]


def test_a_release_that_should_have_the_field_but_does_not_print_it_shows_no_evidence():
    assert mamba_judged("0.5.12", mamba_scheduler_strategy=None)["status"] == "no_evidence"


@pytest.mark.parametrize(
    ("version", "field", "words"),
    [
        ("0.5.9", "mamba_scheduler_strategy", ["--mamba-scheduler-strategy extra_buffer", "SGLANG_ENABLE_SPEC_V2=1"]),
        ("0.5.12", "mamba_scheduler_strategy", ["--mamba-scheduler-strategy extra_buffer"]),
        ("0.5.23", "mamba_radix_cache_strategy", ["--mamba-radix-cache-strategy extra_buffer"]),
    ],
)
def test_the_remedy_speaks_of_the_release_that_runs(version, field, words):
    remedy = mamba_judged(version, **{field: "'no_buffer'"})["remedy"]
    assert all(word in remedy for word in words)
    assert ("SGLANG_ENABLE_SPEC_V2" in remedy) == (version == "0.5.9")


# ---- the memory fraction ----


@pytest.mark.parametrize(
    ("printed", "expected", "status"),
    [
        ("0.7509096875", 0.75, "met"),
        ("0.755", 0.75, "met"),
        ("0.7551", 0.75, "unmet"),
        ("0.7703297656249999", 0.75, "unmet"),
        ("1", 1.0, "met"),
        ("None", 0.75, "unmet"),
    ],
)
def test_the_memory_fraction_is_compared_with_a_tolerance(printed, expected, status):
    lines = [log_line(banner_text(mem_fraction_static=printed))]
    judged = condition(judgement_of(lines, {"mem_fraction_static": expected}), "mem_fraction_static")
    assert judged["status"] == status


def test_the_tolerance_is_the_operators():
    lines = [log_line(banner_text(mem_fraction_static="0.79"))]
    expect = {"mem_fraction_static": 0.75, "mem_fraction_tolerance": 0.05}
    assert condition(judgement_of(lines, expect), "mem_fraction_static")["status"] == "met"


# ---- three values ----


def test_before_it_is_ready_a_server_is_not_proven():
    judgement = judgement_of(ready_log(ready=False), instance="alive")
    assert judgement.verdict == "inconclusive"
    assert not judgement.decided
    assert "has not come up yet" in judgement.reason


def test_a_start_that_has_not_come_so_far_is_undecided():
    judgement = judgement_of(ready_log(ready=False)[:3], instance="alive")
    assert judgement.verdict == "inconclusive"
    assert not judgement.decided
    assert statuses(judgement)["draft_model"] == "no_evidence"


@pytest.mark.parametrize("instance", ["dead", "replaced"])
def test_an_instance_that_is_gone_is_refuted(instance):
    judgement = judgement_of(ready_log(), instance=instance)
    assert judgement.verdict == "refuted"
    assert judgement.decided


def test_an_instance_that_died_is_refuted_with_nothing_asserted_too():
    assert judgement_of(ready_log(ready=False), {}, instance="dead").verdict == "refuted"


def test_a_server_that_died_after_it_came_up_is_refuted():
    crash = [log_line("Scheduler hit an exception: Traceback (most recent call last):"), "  File x", "ValueError: no"]
    judgement = judgement_of(ready_log() + crash)
    assert judgement.verdict == "refuted"
    assert judgement.reason == "the server died after it was up: ValueError: no"


def test_a_log_that_ends_with_an_orderly_stop_still_proves_its_start():
    stop = [log_line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")]
    assert judgement_of(ready_log() + stop).verdict == "proven"
    assert judgement_of(ready_log(ready=False) + stop).verdict == "refuted"


def test_a_fatal_line_decides_when_its_traceback_is_whole():
    crash = [
        log_line("Scheduler hit an exception: Traceback (most recent call last):"),
        "  File x",
        "ValueError: no",
        "",
    ]
    undecided = judgement_of(ready_log(ready=False) + crash, instance="alive")
    decided = judgement_of(ready_log(ready=False) + crash + [log_line("Received sigquit from a child process.")])
    assert (undecided.verdict, undecided.decided) == ("refuted", False)
    assert (decided.verdict, decided.decided) == ("refuted", True)


def test_suppressed_messages_make_missing_evidence_inconclusive():
    dropped = records(["Suppressed 900 messages from sglang.service"], origin="journald")
    judgement = judgement_of(facts_of(ready_log(draft_ranks=3), dropped))
    assert judgement.verdict == "inconclusive"
    assert "suppressed 900 messages" in judgement.reason
    assert "LogRateLimitIntervalSec" in judgement.reason
    assert statuses(judgement)["draft_model"] == "no_evidence"


def test_a_gap_that_the_reader_knows_of_is_the_cause():
    judgement = judgement_of(ready_log()[1:], gap="the journal begins after this instance was started")
    assert judgement.verdict == "inconclusive"
    assert "the journal begins after this instance was started" in judgement.reason


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([], "it holds no line of the server"),
        ([log_line(READY)], "its beginning is missing"),
        (["some line", "in another format"], "SGLANG_LOGGING_CONFIG_PATH"),
        ([log_line("Attention backend not specified.")], "log level is above INFO"),
        ([log_line(banner_text())[:2000]], "the log has cut it"),
    ],
)
def test_missing_evidence_is_inconclusive_and_its_cause_is_named(lines, cause):
    judgement = judgement_of(lines)
    assert judgement.verdict == "inconclusive"
    assert cause in judgement.reason
    assert "unmet" not in statuses(judgement).values()


def test_a_server_that_came_up_without_a_draft_is_refuted_whatever_was_asserted():
    judgement = judgement_of(ready_log(draft=""), {"speculative_algorithm": "NEXTN"})
    assert judgement.verdict == "refuted"
    assert "there is no draft model" in judgement.reason


def test_an_algorithm_without_a_draft_model_is_not_refuted_for_having_none():
    lines = ready_log(draft="", speculative_algorithm="'NGRAM'")
    assert judgement_of(lines, {"speculative_algorithm": "NGRAM"}).verdict == "proven"


# ---- several nodes ----


def test_a_follower_node_is_proven_by_its_memory_pools():
    lines = ready_log(ready=False, ranks=2, nnodes="2", node_rank="1", tp_size="4")
    expect = dict(REFERENCE, draft_ranks=None)
    pools = [log_line("Memory pool end. avail mem=9.00 GB", "TP%d" % rank) for rank in (0, 1)]
    assert judgement_of(lines, expect).verdict == "inconclusive"
    assert judgement_of(lines + pools, expect).verdict == "proven"


def test_a_follower_answers_health_checks_long_before_it_is_up():
    lines = ready_log(ready=False, ranks=2, nnodes="2", node_rank="1", tp_size="4", draft="")
    judgement = judgement_of(lines, dict(REFERENCE, draft_ranks=None), instance="alive", http_ready=True)
    assert judgement.verdict == "inconclusive"
    assert not judgement.decided


def test_of_several_starts_the_judged_one_is_named():
    assert "of 2 starts in this log the last one is judged" in judgement_of(facts_of(ready_log(), ready_log())).reason


# ---- HTTP ----


def test_fields_come_from_http_when_the_log_has_none():
    answer = {
        "version": "0.5.23",
        "speculative_algorithm": "EAGLE",
        "mamba_radix_cache_strategy": "extra_buffer",
        "disable_overlap_schedule": False,
        "mem_fraction_static": 0.75,
    }
    expect = {key: REFERENCE[key] for key in conditions.CONDITIONS if key in REFERENCE}
    judgement = judgement_of([], expect, http_fields=answer, http_ready=True)
    assert judgement.verdict == "proven"
    assert judgement.release["version"] == "0.5.23"
    assert {evidence["source"] for one in judgement.conditions for evidence in one["evidence"]} == {"server_info"}


@pytest.mark.parametrize(
    ("arguments", "ranks"),
    [({"tp_size": 4}, 4), ({"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}, 4), ({"tp_size": "x"}, 1)],
)
def test_the_ranks_are_known_by_http_when_the_log_has_no_banner(arguments, ranks):
    answer = dict({"speculative_algorithm": "EAGLE"}, **arguments)
    judgement = judgement_of([], {"draft_model_class": "Qwen3_5ForCausalLMMTP"}, http_fields=answer, http_ready=True)
    (draft,) = [one for one in judgement.conditions if one["name"] == "draft_model"]
    assert draft["expected"]["ranks"] == ranks


def test_http_does_not_show_the_draft_model():
    judgement = judgement_of([], http_fields={"speculative_algorithm": "EAGLE"}, http_ready=True)
    assert statuses(judgement)["draft_model"] == "no_evidence"
    assert judgement.verdict == "inconclusive"


def test_log_and_http_that_disagree_are_refuted_with_both_values():
    answer = {"speculative_algorithm": "EAGLE", "mem_fraction_static": 0.85}
    judgement = judgement_of(ready_log(), http_fields=answer)
    judged = condition(judgement, "mem_fraction_static")
    assert judgement.verdict == "refuted"
    assert judged["status"] == "unmet"
    assert judged["observed"] == {"log": 0.75, "server_info": 0.85}
    assert "0.75" in judged["reason"] and "0.85" in judged["reason"]
    assert [evidence["source"] for evidence in judged["evidence"]] == ["log", "server_info"]
    assert "second server" in judged["remedy"]


def test_an_accept_length_in_the_answer_is_proof_at_runtime():
    answer = {"speculative_algorithm": "EAGLE", "internal_states": [{"avg_spec_accept_length": 2.3}]}
    judgement = judgement_of(ready_log("0.5.23"), {"mem_fraction_static": 0.75}, http_fields=answer)
    assert judgement.verdict == "proven"


@pytest.mark.parametrize("answer", [{"speculative_algorithm": []}, {"mem_fraction_static": {}}, {"version": 5}, ["x"]])
def test_an_odd_answer_is_no_reason_to_fail(answer):
    judgement = judgement_of(ready_log(), http_fields=answer)
    assert judgement.verdict in ("refuted", "proven")
