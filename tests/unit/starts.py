# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Logs of server starts for tests: captured ones, and ones made from them."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.llmops.sglang.plugins.module_utils import banner, conditions, facts, server_log

CAPTURED = Path(__file__).resolve().parent / "fixtures" / "captured"
TARGET = "Qwen3_5MoeForConditionalGeneration"
DRAFT = "Qwen3_5ForCausalLMMTP"
READY = "The server is fired up and ready to roll!"
TIME = "2026-11-29 15:00:%02d"

REFERENCE = {
    "speculative_algorithm": "NEXTN",
    "mamba_strategy": "extra_buffer",
    "disable_overlap_schedule": False,
    "draft_model_class": DRAFT,
    "draft_ranks": 4,
    "draft_memory_gb": 1.91,
    "mem_fraction_static": 0.75,
}


def captured(name):
    return (CAPTURED / (name + ".log")).read_bytes().decode("utf-8", "replace")


def banner_text(version="0.5.12", case="nextn", **changes):
    """The ``server_args=`` line of a captured start, with some fields set to other values (as printed)."""
    line = next(line for line in captured("%s-%s" % (version, case)).split("\n") if "] server_args=" in line)
    fields = banner.parse(line.partition("server_args=")[2])
    raw = dict(fields.raw)
    for name, value in changes.items():
        if value is None:
            raw.pop(name)
        else:
            raw[name] = value
    if fields.form == banner.CALL:
        return "server_args=ServerArgs(%s)" % ", ".join("%s=%s" % item for item in raw.items())
    return "server_args={%s}" % ", ".join("'%s': %s" % item for item in raw.items())


def log_line(message, rank="", second=0):
    """A line as SGLang's own logger prints it."""
    return "[%s%s] %s" % (TIME % second, " " + rank if rank else "", message)


def load_line(model_class=TARGET, memory=30.0, rank="", second=0):
    return log_line(
        "Load weight end. elapsed=1.25 s, type=%s, avail mem=60.00 GB, mem usage=%.2f GB." % (model_class, memory),
        rank,
        second,
    )


def start_lines(version="0.5.12", case="nextn", ranks=4, draft_ranks=None, ready=True, draft=DRAFT, **fields):
    """All lines of a start that matter: the banner, the target and the draft model on each rank, ready."""
    tags = ["TP%d" % number for number in range(ranks)] if ranks > 1 else [""]
    drafts = tags if draft_ranks is None else tags[:draft_ranks]
    fields.setdefault("tp_size", str(ranks))
    fields.setdefault("mem_fraction_static", "0.75")
    lines = [log_line(banner_text(version, case, **fields), second=1)]
    lines += [load_line(rank=tag, second=2) for tag in tags]
    lines += [load_line(draft, 1.91, tag, second=3) for tag in drafts if draft]
    lines += [log_line("Memory pool end. avail mem=10.00 GB", tag, 4) for tag in tags]
    return lines + ([log_line(READY, second=9)] if ready else [])


def records(lines, **fields):
    """Lines to log records; ``fields`` are those of :class:`LogRecord`."""
    lines = lines.split("\n") if isinstance(lines, str) else lines
    return [server_log.LogRecord(line, cursor="line %d" % number, **fields) for number, line in enumerate(lines, 1)]


def events_of(lines, **fields):
    parser = server_log.LogParser()
    return [event for record in records(lines, **fields) for event in parser.feed(record)]


def facts_of(*parts):
    """The facts of a log; each part is text, lines or records."""
    parser = server_log.LogParser()
    seen = facts.StartFacts()
    for part in parts:
        part = part if isinstance(part, list) and part and not isinstance(part[0], str) else records(part)
        for record in part:
            for event in parser.feed(record):
                seen.add(event)
    return seen


def judgement_of(log, expect=None, **known):
    """The judgement on a log (text, lines or facts), by the reference's expectations unless others are given."""
    expect = REFERENCE if expect is None else expect
    seen = log if isinstance(log, facts.StartFacts) else facts_of(log)
    return conditions.judge(seen, conditions.Expectations.from_options(expect), **known)


def statuses(judgement):
    return {condition["name"]: condition["status"] for condition in judgement.conditions}


def condition(judgement, name):
    return next(condition for condition in judgement.conditions if condition["name"] == name)
