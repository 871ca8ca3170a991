from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import report


def condition(name, status, expected=None, observed=None):
    return {"name": name, "status": status, "expected": expected, "observed": observed}


def record(host, verdict, conditions=(), reason="", diagnosis=()):
    return {
        "host": host,
        "verdict": verdict,
        "reason": reason,
        "action": "deployed" if verdict == "proven" else "rolled_back",
        "conditions": list(conditions),
        "diagnosis": list(diagnosis),
    }


GOOD = record("gpu01", "proven", [condition(name, "met") for name in report.CONDITION_NAMES])
GOOD["accept_length"] = 2.866
BAD = record(
    "gpu02",
    "refuted",
    [condition("speculative_algorithm", "unmet", "EAGLE", None), condition("mamba_strategy", "met")],
    reason="The server does not speculate.",
    diagnosis=[{"summary": "The flags were ignored", "remedy": "Look at the drop-ins"}],
)


def test_the_matrix_has_a_row_per_host_and_a_column_per_condition():
    header, first, *_rest = report.lines([GOOD])
    assert header.split() == ["host", *report.CONDITION_NAMES, "accept_length", "verdict", "action"]
    assert first.split() == ["gpu01", "met", "met", "met", "met", "met", "2.87", "PROVEN", "deployed"]


def test_hosts_without_proof_come_first_with_their_reason_and_remedy():
    text = report.lines([GOOD, BAD])
    assert text[1].startswith("gpu02")
    assert text[2].startswith("gpu01")
    assert "gpu02: The server does not speculate." in text
    assert "  speculative_algorithm: expected EAGLE, observed None" in text
    assert "  The flags were ignored: Look at the drop-ins" in text


def test_a_condition_that_was_not_judged_is_a_dash():
    assert report.lines([record("gpu03", "inconclusive")])[1].split()[1:7] == ["-"] * 6


def test_the_closing_line_counts():
    assert report.closing_line([GOOD, BAD]) == "1 of 2 hosts proven, 1 refuted"
    assert report.closing_line([GOOD]) == "1 of 1 hosts proven"


def test_only_all_proven_is_good():
    assert report.all_proven([GOOD])
    assert not report.all_proven([GOOD, BAD])
