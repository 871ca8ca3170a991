# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import server_log
from ansible_collections.llmops.sglang.tests.unit.starts import (
    DRAFT,
    READY,
    TARGET,
    banner_text,
    events_of,
    load_line,
    log_line,
)


def the_event(lines, kind, **fields):
    (event,) = [event for event in events_of(lines, **fields) if isinstance(event, kind)]
    return event


def kinds(lines, **fields):
    ignored = (server_log.OutputSeen, server_log.SecretsShown)
    return [type(event).__name__ for event in events_of(lines, **fields) if not isinstance(event, ignored)]


@pytest.mark.parametrize(
    ("message", "model_class", "memory", "elapsed"),
    [
        ("type=X, dtype=torch.bfloat16, avail mem=60.00 GB, mem usage=1.91 GB.", "X", 1.91, None),
        ("elapsed=1.25 s, type=X, dtype=torch.bfloat16, avail mem=60.00 GB, mem usage=1.91 GB.", "X", 1.91, 1.25),
        ("elapsed=1.25 s, type=X, avail mem=60.00 GB, mem usage=-0.00 GB.", "X", 0.0, 1.25),
        (
            "elapsed=1.25 s, type=X, quant=fp8, bits=8, fmt=e4m3, avail mem=60.00 GB, mem usage=-1.50 GB.",
            "X",
            -1.5,
            1.25,
        ),
        (
            "elapsed=2.00 s, type=X, quant=modelopt, quant_algo=NVFP4, requantization_method=a,b, avail mem=6.00 GB,"
            " mem usage=5.53 GB.",
            "X",
            5.53,
            2.0,
        ),
        (
            "Committed real weights after CUDA graph capture in 3.50 s (capture overlap window 1.00 s, startup overlap"
            " total 4.50 s)",
            "",
            None,
            3.5,
        ),
    ],
)
def test_all_forms_of_the_load_line(message, model_class, memory, elapsed):
    event = the_event([log_line("Load weight end. " + message, "TP1")], server_log.WeightsLoaded)
    assert (event.model_class, event.memory_gb, event.elapsed_s, event.rank) == (model_class, memory, elapsed, "TP1")


@pytest.mark.parametrize("tag", ["", "TP3", "DP0 TP3", "DP1 TP0 EP0 PP1", "DP0 PP1 ATTN_CP0 MOE_DP0 TP3 EP3"])
def test_the_rank_tag_in_any_order(tag):
    assert the_event([load_line(rank=tag)], server_log.WeightsLoaded).rank == tag


@pytest.mark.parametrize("time", ["2026-11-29 15:00:01", "2026-11-29 15:00:01.123", "2026-11-29 15:00:01,123"])
def test_the_prefix_with_and_without_milliseconds(time):
    event = the_event(["[%s TP0] Load weight begin. avail mem=60.00 GB" % time], server_log.LoadBegan)
    assert (event.clock, event.rank, event.free_gb) == (time, "TP0", 60.0)


def test_the_banner_behind_the_prefix_is_the_servers_own():
    event = the_event([log_line(banner_text())], server_log.Banner)
    assert event.own_format
    assert event.fields.get("speculative_algorithm") == "EAGLE"


def test_the_banner_at_the_start_of_a_line_counts_in_a_log_without_prefixes():
    assert the_event([banner_text()], server_log.Banner).own_format


@pytest.mark.parametrize(
    "head",
    [
        "INFO:sglang.srt.entrypoints.engine:",
        "2026-11-29 15:00:01,123 - sglang.srt.entrypoints.engine - INFO - ",
        "2026-11-29T15:00:01Z INFO [engine] ",
        "WARNING:root:",
    ],
)
def test_a_banner_behind_another_loggers_prefix_is_found(head):
    event = the_event([head + banner_text()], server_log.Banner)
    assert not event.own_format
    assert event.fields.complete


@pytest.mark.parametrize("key", ["message", "msg", "log"])
def test_messages_of_a_json_log_are_found(key):
    import json

    lines = [json.dumps({"level": "INFO", key: text}) for text in (banner_text(), load_line(DRAFT, 1.9, "TP1"), READY)]
    assert kinds(lines) == ["Banner", "WeightsLoaded", "Ready"]


@pytest.mark.parametrize(
    "line",
    [
        "Receive: obj=GenerateReqInput(rid='1', text=\"server_args={'speculative_algorithm': 'EAGLE'}\")",
        "Receive: obj=GenerateReqInput(text='[2026-11-29 15:00:01] server_args=ServerArgs(speculative_algorithm=1)')",
        "Receive: text=[2026-11-29 15:00:01] server_args={}",
        "Prompt: [2026-11-29 15:00:01 TP0] Load weight end. type=Qwen3_5ForCausalLMMTP, mem usage=1.9 GB",
        'INFO:     127.0.0.1:1 - "GET /?q=server_args={} HTTP/1.1" 200 OK',
        "Finish: obj=GenerateReqInput(text='x'), out={'text': 'The server is fired up and ready to roll!'}",
        "Global server args updated! get_server_args()=ServerArgs(speculative_algorithm='EAGLE')",
        "Global server args updated! global_server_args_dict={'speculative_algorithm': 'EAGLE'}",
    ],
)
def test_what_somebody_sent_or_said_later_is_no_event(line):
    assert kinds([log_line(line)]) == []


def test_a_json_request_log_is_no_event():
    line = '{"event": "request.received", "obj": {"text": "server_args={\'speculative_algorithm\': \'EAGLE\'}"}}'
    assert kinds([line]) == []


def test_a_banner_that_was_cut_into_records_is_put_together():
    text = log_line(banner_text())
    pieces = [text[start:start + 2048] for start in range(0, len(text), 2048)]
    banners = [event for event in events_of(pieces, pid=7) if isinstance(event, server_log.Banner)]
    assert [event.fields.complete for event in banners] == [False, True]
    assert banners[-1].fields.get("mem_fraction_static") == 0.7509096875


def test_a_progress_bar_and_a_line_behind_it_are_two_lines():
    glued = "Loading:  50%|###  | 1/2\rLoading: 100%|######| 2/2" + load_line(DRAFT, 1.91, "TP2")
    assert the_event([glued], server_log.WeightsLoaded).rank == "TP2"


def test_lines_that_two_ranks_wrote_at_once_are_both_read():
    glued = (
        load_line(rank="TP0")
        + load_line(rank="TP1")
        + log_line("using attn output gate!", "TP2")
        + load_line(rank="TP3")
    )
    ranks = [event.rank for event in events_of([glued]) if isinstance(event, server_log.WeightsLoaded)]
    assert ranks == ["TP0", "TP1", "TP3"]


def test_the_captured_glued_line_is_read():
    line = (
        "See https://nanobind.readthedocs.io/refleaks.html[2026-11-29 15:32:21] kill_process_tree called:"
        " parent_pid=1, include_parent=True, pid=1"
    )
    assert kinds([line]) == ["Stopping"]


@pytest.mark.parametrize("noise", ["\x1b[1;33m%s\x1b[0m", "\0%s\0", "%s\r\n", "\x1b[32m\x1b[1m%s"])
def test_colours_and_control_characters_do_not_hide_a_line(noise):
    assert kinds([noise % log_line(READY)]) == ["Ready"]


def test_one_record_may_hold_several_lines():
    text = "\n".join([log_line(banner_text()), load_line(), log_line(READY)])
    assert kinds([text]) == kinds([]) + ["Banner", "WeightsLoaded", "Ready"]


def test_the_lines_of_journalctl_short_are_read_with_their_processes():
    lines = [
        "Nov 29 15:00:01 gpu01 systemd[1]: Started sglang.service - SGLang (MTP enabled).",
        "Nov 29 15:00:02 gpu01 python[4711]: " + log_line(READY),
        "Nov 29 15:00:03 gpu01 systemd[1]: sglang.service: Main process exited, code=killed, status=9/KILL",
    ]
    assert kinds(lines) == ["UnitStarting", "Ready", "UnitExit"]
    assert the_event(lines, server_log.Ready).record.pid == 4711


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ("Decode batch. #running-req: 1, #token: 31, accept len: 2.71, gen throughput (token/s): 78.12, ", 2.71),
        ("Decode batch [40], #running-req: 1, accept len: 1.00, accept rate: 0.00, gen throughput (token/s): 1.0", 1.0),
        ("Decode batch, #running-req: 1, #full token: 31, gen throughput (token/s): 1.0, #queue-req: 0", None),
    ],
)
def test_decode_lines_with_and_without_an_accept_length(line, accepted):
    assert the_event([log_line(line, "TP0")], server_log.DecodeBatch).accept_length == accepted


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Scheduler hit an exception: Traceback (most recent call last):", "exception"),
        ("DetokenizerManager hit an exception: Traceback (most recent call last):", "exception"),
        ("Received sigquit from a child process. It usually means the child failed.", "child_failed"),
        ("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", "child_failed"),
        ("Rank 1 scheduler is dead. Please check if there are relevant logs.", "rank_died"),
        ("Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9", "rank_died"),
        ("Initialization failed. Please see the error messages above.", "initialization_failed"),
        ("Subprocess scheduler_0 (pid=12) crashed with exit code -11. Triggering SIGQUIT for cleanup...", "rank_died"),
        ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog"),
        ("Watchdog timeout (self.watchdog_timeout=300)", "watchdog"),
        (
            "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 1): address already in use",
            "bind_error",
        ),
        ("launch_server.py: error: unrecognized arguments: --foo", "usage_error"),
        ("sglang serve: error: argument --tp-size: invalid int value: 'x'", "usage_error"),
    ],
)
def test_lines_after_which_no_server_goes_on(line, code):
    assert the_event([log_line(line)], server_log.FatalLine).code == code


@pytest.mark.parametrize(
    "line",
    [
        "kill_process_tree called: parent_pid=1, include_parent=False, pid=1",
        "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=True)",
        "speculative_adaptive disabled: no. Falling back to static speculative params.",
        "Capture cuda graph begin. This can take up to several minutes. avail mem=1.00 GB",
        "clang: error: no such file",
    ],
)
def test_lines_that_only_sound_fatal(line):
    assert not [event for event in events_of([log_line(line), line]) if isinstance(event, server_log.FatalLine)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Capture cuda graph end. Time elapsed: 114.39 s. mem usage=1.00 GB. avail mem=1.00 GB.", "GraphsCaptured"),
        ("Capture piecewise CUDA graph end. Time elapsed: 1.00 s. ", "GraphsCaptured"),
        ("max_total_num_tokens=20000, chunked_prefill_size=4096", "TokenPool"),
        ("Memory pool end. avail mem=20.70 GB", "MemoryPool"),
        ("INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)", "HttpUp"),
        ('INFO:     127.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK', "RequestAnswered"),
        ("SIGTERM received. signum=None frame=None. Draining requests and shutting down...", "Stopping"),
        ("Parameter model.mtp.fc.weight not found in params_dict, skip loading", "TensorSkipped"),
        (
            "Detected Gemma4AssistantForCausalLM draft; promoting --speculative-algorithm NEXTN to FROZEN_KV_MTP.",
            "AlgorithmPromoted",
        ),
        ("SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker.", "Notice"),
    ],
)
def test_other_lines_of_a_start(line, kind):
    assert kinds([log_line(line)]) == [kind]


def test_a_traceback_comes_out_with_its_last_line_and_rank():
    lines = [
        log_line("Scheduler hit an exception: Traceback (most recent call last):", "TP1"),
        '  File "x.py", line 1, in y',
        "    z()",
        "RuntimeError: no",
        "",
        log_line("Received sigquit from a child process. It usually means the child failed."),
    ]
    end = the_event(lines, server_log.TracebackEnd)
    assert (end.process, end.exception, end.rank) == ("scheduler", "RuntimeError: no", "TP1")
    assert kinds(lines) == ["TracebackBegan", "FatalLine", "TracebackEnd", "TracebackClosed", "FatalLine"]


def test_tracebacks_of_two_processes_do_not_mix():
    parser = server_log.LogParser()
    said = []
    for pid, text in [
        (1, log_line("Scheduler hit an exception: Traceback (most recent call last):", "TP0")),
        (2, log_line("Scheduler hit an exception: Traceback (most recent call last):", "TP1")),
        (1, '  File "x.py", line 1, in y'),
        (2, '  File "x.py", line 2, in y'),
        (2, "ValueError: two"),
        (1, "ValueError: one"),
    ]:
        said += [e for e in parser.feed(server_log.LogRecord(text, pid=pid)) if isinstance(e, server_log.TracebackEnd)]
    assert [(event.rank, event.exception) for event in said] == [("TP1", "ValueError: two"), ("TP0", "ValueError: one")]


@pytest.mark.parametrize(
    ("line", "kind", "detail"),
    [
        (
            "sglang.service: Main process exited, code=exited, status=1/FAILURE",
            server_log.UnitExit,
            ("exited", "1/FAILURE"),
        ),
        ("sglang.service: Failed with result 'oom-kill'.", server_log.UnitResult, "oom-kill"),
        ("sglang.service: Start request repeated too quickly.", server_log.UnitResult, "start-limit-hit"),
        (
            "sglang.service: A process of this unit has been killed by the OOM killer.",
            server_log.UnitResult,
            "oom-kill",
        ),
    ],
)
def test_what_systemd_says_about_the_unit(line, kind, detail):
    event = the_event([line], kind, origin="systemd")
    assert ((event.code, event.status) if kind is server_log.UnitExit else event.result) == detail


def test_what_journald_says_about_itself():
    lines = ["Suppressed 1042 messages from sglang.service"]
    assert the_event(lines, server_log.Suppressed, origin="journald").count == 1042


def test_who_speaks_decides():
    assert kinds(["Suppressed 1042 messages from sglang.service"]) == []
    assert kinds(["sglang.service: Main process exited, code=exited, status=1/FAILURE"]) == []
    assert kinds([log_line(READY)], origin="systemd") == []


def test_the_first_line_and_the_first_with_a_prefix_are_told():
    seen = [
        event
        for event in events_of(["bare", "bare", log_line("a"), log_line("b")])
        if isinstance(event, server_log.OutputSeen)
    ]
    assert [event.prefixed for event in seen] == [False, True]


def test_events_show_no_text_when_printed():
    (banner,) = [
        event
        for event in events_of([log_line(banner_text(api_key="'S3cret-value'"))])
        if isinstance(event, server_log.Banner)
    ]
    assert "S3cret" not in repr(banner)
    assert TARGET not in repr(events_of([load_line()])[-1].record.__class__)
