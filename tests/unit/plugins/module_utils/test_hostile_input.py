# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing in a log is trusted: no input makes the engine raise or hang, and no secret leaves it."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import conditions, diagnosis, facts, server_log
from ansible_collections.llmops.sglang.tests.unit.starts import (
    DRAFT,
    READY,
    REFERENCE,
    banner_text,
    captured,
    load_line,
    log_line,
    start_lines,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXPECTATIONS = [conditions.Expectations.from_options(expect) for expect in (REFERENCE, {}, {"draft_ranks": 1})]
INSTANCES = ("alive", "dead", "replaced", "unknown")


def outcome(records, expectations=EXPECTATIONS[0], instance="unknown", http_fields=None):
    """All that leaves the engine for a log."""
    parser = server_log.LogParser()
    seen = facts.StartFacts()
    for record in records:
        for event in parser.feed(record):
            seen.add(event)
    judgement = conditions.judge(seen, expectations, instance=instance, http_fields=http_fields)
    causes = diagnosis.diagnose(seen, judgement, instance)
    assert judgement.verdict in ("proven", "refuted", "inconclusive")
    assert [one["name"] for one in judgement.conditions] == list(conditions.CONDITIONS)
    assert {one["status"] for one in judgement.conditions} <= {"met", "unmet", "no_evidence", "not_applicable"}
    assert all(cause["code"] in diagnosis.CODES for cause in causes)
    return seen, [judgement.verdict, judgement.reason, judgement.conditions, judgement.release, causes, seen.phases()]


# ---- secrets ----

TOKEN_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Hypothesis takes words of the code under test as texts: with this ending a secret is none of them.
ENDING = "0Zq9Zq8Zq7"
SECRETS = st.one_of(
    st.text(TOKEN_ALPHABET, min_size=2, max_size=40),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=2, max_size=40).map(
        lambda text: text.strip().replace("*", "x")
    ),
    st.text(TOKEN_ALPHABET, min_size=2, max_size=30).map("hf_".__add__),
    st.text(TOKEN_ALPHABET, min_size=2, max_size=30).map("sk-".__add__),
).map(lambda text: text + ENDING)
SECRET_FIELDS = ("api_key", "admin_api_key", "ssl_keyfile_password", "watermark_key", "hub_token", "my_secret_thing")
# Lines that become evidence, a reason or a diagnosis, with a place for what should not be in there.
PLACES = (
    "launch_server.py: error: unrecognized arguments: --api-key {plain} --no-such-flag",
    "ValueError: {plain} is refused by https://user:{url}@host/x?api_key={url}",
    "Parameter model.mtp.{plain} not found in params_dict, skip loading",
    "Load weight end. elapsed=1.00 s, type={plain}, avail mem=1.00 GB, mem usage=1.00 GB.",
    "Subprocess scheduler_0 (pid=1) crashed with exit code 1. Authorization: Bearer {plain}",
    "ERROR:    [Errno 98] bind on address ('{plain}', 30000): address already in use",
    "Initialization failed. headers={{'Authorization': 'Bearer {plain}', 'x': {quoted}}}",
    "Rank 0 scheduler died during initialization (exit code: 1). {quoted} {json}",
    "rpc_port is used by a process already. process.cmdline()=['python', '--api-key', {quoted}] pid=1",
)


@st.composite
def logs_with_a_secret(draw):
    secret = draw(SECRETS)
    field = draw(st.sampled_from(SECRET_FIELDS))
    version = draw(st.sampled_from(["0.5.12", "0.5.18", "0.5.23"]))
    banner = log_line(banner_text(version, **{field: repr(secret)}))
    written = {"plain": secret, "quoted": repr(secret), "json": json.dumps(secret), "url": quote(secret, safe="")}
    places = draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=4))
    planted = [place.format(**written) for place in places]
    planted = [line if line.startswith("ValueError") else log_line(line) for line in planted]
    crash = [log_line("Scheduler hit an exception: Traceback (most recent call last):"), '  File "x", line 1, in y']
    crash += [line for line in planted if line.startswith("ValueError")]
    before = draw(st.booleans())
    rest = [line for line in planted if not line.startswith("ValueError")]
    lines = (rest + [banner] if before else [banner] + rest) + crash
    return secret, lines


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(logs_with_a_secret(), st.sampled_from(INSTANCES))
def test_a_planted_secret_never_leaves(log, instance):
    secret, lines = log
    records = [server_log.LogRecord(line) for line in lines]
    for expectations in EXPECTATIONS:
        seen, left = outcome(records, expectations, instance)
        said = json.dumps(left, ensure_ascii=False)
        for written in (secret, json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]):
            assert written not in said
            assert written not in json.loads(json.dumps(seen.redactor.redact("\n".join(lines))))


@settings(deadline=None)
@given(SECRETS, st.sampled_from(SECRET_FIELDS))
def test_a_secret_in_the_servers_answer_never_leaves(secret, field):
    answer = {
        field: secret,
        "speculative_algorithm": "x %s" % secret,
        "mem_fraction_static": [secret],
        "launch_command": "sglang --api-key %s" % secret,
        "version": "0.5.23 %s" % secret,
    }
    _seen, left = outcome([], EXPECTATIONS[0], "alive", answer)
    assert secret not in repr(left)
    assert json.dumps(secret)[1:-1] not in json.dumps(left)


# ---- anything ----

LINES = tuple(
    line
    for name in ("0.5.12-realserver-nextn-crash-after-draft-load", "0.5.23-realserver-draft-missing")
    for line in captured(name).split("\n")
    if len(line) < 400
) + (
    log_line(banner_text())[:3000],
    "server_args=",
    "server_args=ServerArgs(",
    "server_args={'a': <",
    log_line(READY),
    load_line(DRAFT, 1.9, "TP0"),
    "Load weight end. elapsed=nan s, type=, avail mem=-inf GB, mem usage=1.2.3 GB.",
    "max_total_num_tokens=" + "9" * 30,
    "Decode batch, accept len: ..., gen throughput",
    '{"message": "server_args={"}',
    '{"message": ["x"], "msg": null}',
    "Main process exited, code=killed, status=",
    "Failed with result 'x'.",
    "Suppressed 99999999999999999999 messages from x",
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.sampled_from(LINES),
    st.tuples(st.sampled_from(LINES), st.text(max_size=20), st.sampled_from(LINES)).map("".join),
    st.tuples(st.sampled_from(LINES), st.integers(0, 400), st.text(max_size=5)).map(lambda t: t[0][:t[1]] + t[2]),
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")),
)
RECORDS = st.builds(
    server_log.LogRecord,
    TEXTS,
    timestamp=st.sampled_from(["", "2026-11-29T15:00:00.000000Z", "no time"]),
    pid=st.sampled_from([None, 1, 2]),
    cursor=st.sampled_from(["", "a", "b"]),
    origin=st.sampled_from(["service", "service", "service", "systemd", "journald", "else"]),
)
ANSWERS = st.none() | st.dictionaries(
    st.sampled_from([*conditions.CONDITIONS, "version", "internal_states", "api_key", "mamba_radix_cache_strategy"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner) | st.dictionaries(st.just("a"), inner),
    ),
)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=25), st.sampled_from(EXPECTATIONS), st.sampled_from(INSTANCES), ANSWERS)
def test_no_log_makes_the_engine_raise(records, expectations, instance, answer):
    _seen, left = outcome(records, expectations, instance, answer)
    json.dumps(left)


MEGABYTE = 1 << 20
QUARTER = MEGABYTE // 4


@pytest.mark.parametrize(
    "unit",
    [
        "(", "<", "'\\", "\"", "[2026-11-29 15:00:00", "[2026-11-29 15:00:00] ", "a.", "key=", "--token ", "://a:b",
        "server_args=", "Load weight end. type=", "a=1,", "'a': {", "\x1b[1m", "\r", "x", " ", "\0", "hf_", "=", "\\",
        "hit an exception: ", "ServerArgs(", "INFO:", "12:00 ", "Bearer ", "eyJaaaaaaaa.", "error: ", "accept len: ",
        "TP0 ", "//", "[Errno 98] ",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "head", ["", "[2026-11-29 15:00:00 TP0] ", "server_args=ServerArgs(a='", "api_key='", '{"message": "']
)
def test_the_work_on_a_long_line_is_linear(unit, head):
    """Work that grows with the square of this length would not end within the time limit of any test run."""
    line = head + unit * (QUARTER // len(unit))
    seen, _left = outcome([server_log.LogRecord(line)])
    seen.redactor.redact(line)


@pytest.mark.parametrize("line", ["x" * MEGABYTE, "[" * MEGABYTE, "server_args={" + "'a': 1," * (MEGABYTE // 7)])
def test_a_line_of_a_megabyte_is_read(line):
    outcome([server_log.LogRecord(line)])


def test_many_secrets_do_not_fill_the_memory():
    line = " ".join("api_key=%08dAbc" % number for number in range(20000))
    seen, _left = outcome([server_log.LogRecord(line)] + [server_log.LogRecord(log_line(READY))] * 20)
    assert "00012345Abc" not in seen.redactor.redact(line)


def test_nesting_without_end_does_not_exhaust_the_stack():
    for text in ("[" * 200000, "{'a': " * 100000, "ServerArgs(a=" + "f(" * 100000):
        outcome([server_log.LogRecord("server_args=" + text), server_log.LogRecord('{"message": ' + text)])


def test_what_is_kept_of_a_long_log_is_bounded():
    line = log_line("Received sigquit from a child process. " + "x" * QUARTER)
    seen, left = outcome([server_log.LogRecord(line)] * 20)
    assert sum(len(failure.text) + len(failure.evidence.text) for failure in seen.failures) < QUARTER
    assert len(json.dumps(left)) < 20000


def test_evidence_of_long_lines_is_short():
    lines = start_lines(draft="D" * 150)
    _seen, left = outcome([server_log.LogRecord(line) for line in lines])
    assert max(len(evidence["line"]) for one in left[2] for evidence in one["evidence"]) <= 400
