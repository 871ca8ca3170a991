# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.tracebacks import (
    HEADER,
    TracebackReader,
    introduces_traceback,
)

FRAME = '  File "/opt/sglang/lib/sglang/srt/managers/scheduler.py", line 1, in __init__'
LAUNCH = '  File "/opt/sglang/lib/sglang/launch_server.py", line 84, in <module>'
ARGUMENTS = '  File "/opt/sglang/lib/sglang/srt/server_args.py", line 1, in from_cli_args'
DRAFT = '  File "/opt/sglang/lib/sglang/srt/speculative/eagle_worker_v2.py", line 1, in init_lm_head'
SCHEDULER = "Scheduler hit an exception: " + HEADER


def ended(header, *lines):
    reader = TracebackReader(header, "TP0")
    found = [reader.feed(line, False) for line in lines]
    return [end for end in found if end], reader


@pytest.mark.parametrize("line", [HEADER, SCHEDULER, "Initialization failed. warmup error: " + HEADER])
def test_a_header_begins_a_traceback(line):
    assert introduces_traceback(line)


def test_other_lines_begin_none():
    assert not introduces_traceback("somebody wrote Traceback (most recent call last): in a prompt")


@pytest.mark.parametrize(
    ("header", "frame", "process", "in_arguments"),
    [
        (SCHEDULER, FRAME, "scheduler", False),
        ("Initialization failed. warmup error: " + HEADER, FRAME, "warm-up", False),
        (HEADER, LAUNCH, "main", False),
        (HEADER, ARGUMENTS, "main", True),
        (HEADER, FRAME, "other", False),
    ],
)
def test_whose_traceback_it_is(header, frame, process, in_arguments):
    (end,), _reader = ended(header, frame, "    code", "    ^^^^", "ValueError: no")
    assert (end.process, end.in_arguments, end.text) == (process, in_arguments, "ValueError: no")


def test_it_tells_whether_the_draft_model_was_handled():
    (of_draft,), _reader = ended(SCHEDULER, FRAME, DRAFT, "ValueError: no")
    (of_target,), _reader = ended(SCHEDULER, FRAME, "ValueError: no")
    assert of_draft.in_draft and not of_target.in_draft


def test_a_chain_ends_with_its_last_exception():
    chain = "The above exception was the direct cause of the following exception:"
    ends, reader = ended(HEADER, FRAME, "KeyError: 'a'", "", chain, "", HEADER, LAUNCH, "OSError: b")
    assert [end.text for end in ends] == ["KeyError: 'a'", "OSError: b"]
    assert [end.process for end in ends] == ["other", "main"]
    assert not reader.closed


@pytest.mark.parametrize(("line", "prefixed"), [("Received sigquit", True), ("some other text", False)])
def test_the_next_line_closes_it(line, prefixed):
    _ends, reader = ended(HEADER, FRAME, "OSError: b", "")
    reader.feed(line, prefixed)
    assert reader.closed
