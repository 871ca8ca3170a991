# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import diagnosis
from ansible_collections.llmops.sglang.tests.unit.starts import (
    banner_text,
    captured,
    facts_of,
    judgement_of,
    log_line,
    records,
    start_lines,
)

HEADER = "Traceback (most recent call last):"
SCHEDULER = "Scheduler hit an exception: " + HEADER
TARGET_FRAME = '  File "/opt/sglang/lib/sglang/srt/model_executor/model_runner.py", line 1, in load_model'
DRAFT_FRAME = '  File "/opt/sglang/lib/sglang/srt/speculative/eagle_worker_v2.py", line 1, in __init__'
LAUNCH_FRAME = '  File "/opt/sglang/lib/sglang/launch_server.py", line 84, in <module>'


def crash(exception, frame=TARGET_FRAME):
    after = log_line("Received sigquit from a child process. It usually means the child failed.")
    return [log_line(SCHEDULER, "TP0"), frame, exception, "", after]


def diagnosed(*log, instance="unknown"):
    facts = facts_of(*log)
    return diagnosis.diagnose(facts, judgement_of(facts, instance=instance), instance)


def codes(*log, instance="unknown"):
    return [cause["code"] for cause in diagnosed(*log, instance=instance)]


STARTED = start_lines(ready=False)


NO_REPO = "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/m/gone'."
# What is raised while the draft model is handled, and while the target is.
OF_DRAFT = [
    (NO_REPO, "draft_path_missing"),
    ("OSError: /m/gone does not appear to have a file named config.json. Checkout 'https://x'.", "draft_path_missing"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/m/gone/config.json'", "draft_path_missing"),
    ("ValueError: Cannot find model module. 'X' is not a registered model in", "architecture_without_mtp"),
    ("AttributeError: 'MiniMaxM2ForCausalLM' object has no attribute 'set_embed_and_head'", "architecture_without_mtp"),
    ("RuntimeError: The size of tensor a (2048) must match the size of tensor b (4096) at", "draft_does_not_fit"),
    ("ValueError: MTP draft hidden size and vocabulary must match the target.", "draft_does_not_fit"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 24.00 MiB.", "out_of_memory"),
]
OF_TARGET = [
    (NO_REPO, "model_path_missing"),
    ("ValueError: Model architectures ['X'] are not supported for now. Supported: a", "architecture_unknown"),
    ("ValueError: X has no SGlang implementation and the Transformers", "architecture_unknown"),
    ("Exception: Capture cuda graph failed: CUDA out of memory.", "out_of_memory"),
    ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "not_enough_memory"),
    ("ValueError: Loaded weights leave no GPU memory for the KV cache (x).", "not_enough_memory"),
    ("RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist", "build_tool_missing"),
    ("RuntimeError: Ninja is required to load C++ extensions", "build_tool_missing"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "build_tool_missing"),
    ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error", "distributed_timeout"),
    ("RuntimeError: [1] is setting up NCCL communicator: wait timeout after 600000ms", "distributed_timeout"),
    ("TimeoutError: rank 0 finished, but other ranks that didn't finish loading.", "distributed_timeout"),
    ("AssertionError: something else", "scheduler_exception"),
]


@pytest.mark.parametrize(
    ("exception", "code", "frame"),
    [(*case, DRAFT_FRAME) for case in OF_DRAFT] + [(*case, TARGET_FRAME) for case in OF_TARGET],
)
def test_what_an_exception_means(exception, code, frame):
    (cause,) = diagnosed(STARTED, crash(exception, frame))
    assert cause["code"] == code
    assert cause["remedy"].endswith(".")
    assert cause["evidence"][0]["rank"] == "TP0"
    assert cause["evidence"][0]["line"] == exception


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (
            "ValueError: Speculative decoding for X is not compatible with radix cache when using"
            " --mamba-scheduler-strategy no_buffer.To use radix cache",
            "radix_cache_against_no_buffer",
        ),
        (
            "ValueError: mamba extra_buffer is not compatible with --disable-radix-cache when",
            "extra_buffer_without_radix_cache",
        ),
        ("ValueError: Spec v2 currently only supports topk = 1 for speculative decoding.", "topk_against_spec_v2"),
        ("ValueError: Unknown speculative algorithm name: FOO", "flag_value_invalid"),
        ("ValueError: Port is already in use. dist_init_port=1 port_base=2", "port_in_use"),
        ("ValueError: something else", "main_exception"),
    ],
)
def test_what_an_exception_of_the_main_process_means(exception, code):
    assert codes([HEADER, LAUNCH_FRAME, "    run_server(server_args)", exception]) == [code]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (
            "unrecognized arguments: --mamba-scheduler-strategy extra_buffer",
            "flag_removed",
            "--mamba-radix-cache-strategy",
        ),
        (
            "unrecognized arguments: --mamba-radix-cache-strategy extra_buffer",
            "flag_unknown",
            "--mamba-scheduler-strategy",
        ),
        ("unrecognized arguments: --enable-beta-spec", "flag_removed", "SGLANG_ENABLE_SPEC_V2"),
        ("unrecognized arguments: --no-such-flag 1", "flag_unknown", "Remove"),
        ("argument --speculative-algorithm: invalid choice: 'X' (choose from 'EAGLE')", "flag_value_invalid", "value"),
    ],
)
def test_flags_that_this_release_does_not_take(arguments, code, word):
    usage = ["usage: launch_server.py [-h] --model-path MODEL_PATH", "launch_server.py: error: " + arguments]
    (cause,) = diagnosed(usage)
    assert cause["code"] == code
    assert word in cause["remedy"]


def test_memory_that_ran_out_comes_with_figures_and_a_proposal():
    lines = start_lines(ranks=2, ready=False, mem_fraction_static="0.88")
    lines.insert(1, log_line("Load weight begin. avail mem=94.00 GB", "TP0"))
    (too_high,) = diagnosed(lines, crash("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 24.00 MiB."))
    assert "mem_fraction_static 0.88, draft model 1.91 GB, 94.00 GB free" in too_high["summary"]
    assert "from 0.88 to 0.85" in too_high["remedy"]
    (too_low,) = diagnosed(
        lines, crash("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
    )
    assert "from 0.88 to 0.91" in too_low["remedy"]
    (with_figure,) = diagnosed(
        lines,
        crash(
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.88. Raise"
            " --mem-fraction-static above 0.903 (minimum viable = 1 - available/pre = 0.9025)."
        ),
    )
    assert "from 0.88 to 0.94 (the server needs more than 0.903)" in with_figure["remedy"]


def test_a_port_in_use_and_by_whom():
    waited = (
        "ValueError: rpc_port at 30001 is not available in 30 seconds. rpc_port is used by a process already."
        " process.name()='python3' process.cmdline()=['python', '--api-key', 'S3cret'] process.status()='idle' pid=4711"
    )
    (cause,) = diagnosed([HEADER, LAUNCH_FRAME, waited])
    assert cause["code"] == "port_in_use"
    assert cause["summary"] == "port 30001 is taken by python3 (pid 4711)"
    assert "S3cret" not in str(cause)


def test_a_port_at_which_a_group_was_to_meet():
    refused = (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address."
        " port: 31999, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    )
    (cause,) = diagnosed(start_lines(ready=False), crash(refused))
    assert (cause["code"], cause["summary"]) == ("port_in_use", "port 31999 is taken")
    assert "another --dist-init-addr" in cause["remedy"]


def test_a_port_that_uvicorn_could_not_bind():
    bind = log_line(
        "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use"
    )
    (cause,) = diagnosed(start_lines(ready=False), [bind])
    assert cause["summary"] == "port 30000 is taken"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("sglang.service: Failed with result 'oom-kill'.", "killed_by_oom_killer"),
        ("sglang.service: Start request repeated too quickly.", "start_limit_hit"),
        ("sglang.service: Failed with result 'start-limit-hit'.", "start_limit_hit"),
        ("sglang.service: Main process exited, code=killed, status=9/KILL", "killed"),
    ],
)
def test_what_systemd_says(line, code):
    assert codes(STARTED, records([line], origin="systemd")) == [code]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog_timeout"),
        ("Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a", "child_died"),
    ],
)
def test_fatal_lines_that_say_little(line, code):
    assert codes(STARTED, [log_line(line)]) == [code]


def test_the_cause_stands_before_its_consequences_and_mere_symptoms_are_left_out():
    unit = records(
        [
            "sglang.service: Main process exited, code=killed, status=9/KILL",
            "sglang.service: Start request repeated too quickly.",
        ],
        origin="systemd",
    )
    log = [STARTED, crash("torch.OutOfMemoryError: CUDA out of memory."), unit]
    assert codes(*log) == ["out_of_memory", "start_limit_hit"]
    assert codes(STARTED, crash("ValueError: no"), unit) == ["scheduler_exception", "start_limit_hit"]


def test_several_ranks_that_fail_alike_are_one_cause():
    log = (
        STARTED
        + crash("torch.OutOfMemoryError: CUDA out of memory.")
        + crash("torch.OutOfMemoryError: CUDA out of memory.")
    )
    assert codes(log) == ["out_of_memory"]


def test_a_traceback_of_another_process_explains_a_death_but_alarms_nobody_else():
    other = [HEADER, TARGET_FRAME, "RuntimeError: Ninja is required to load C++ extensions", ""]
    exited = records(["sglang.service: Main process exited, code=exited, status=1/FAILURE"], origin="systemd")
    assert codes(STARTED, other, exited) == ["build_tool_missing"]
    assert codes(STARTED, other, instance="dead") == ["build_tool_missing"]
    assert codes(STARTED, other) == []


def test_a_variable_without_effect_is_said():
    line = log_line("SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker.")
    assert codes([line, log_line(banner_text("0.5.14", "nospec"))]) == ["environment_without_effect"]


def test_an_instance_that_was_replaced():
    assert codes(start_lines(), instance="replaced") == ["instance_replaced"]


def test_a_proven_start_has_no_diagnosis():
    facts = facts_of(start_lines())
    assert diagnosis.diagnose(facts, judgement_of(facts), "alive") == []


def test_every_code_is_known_and_in_order():
    log = captured("0.5.12-realserver-nextn-crash-after-draft-load")
    causes = diagnosed(log)
    assert [list(cause) for cause in causes] == [["code", "summary", "evidence", "remedy"]]
    assert [cause["code"] for cause in causes] == ["scheduler_exception"]
    assert "Torch not compiled with CUDA enabled" in causes[0]["summary"]
