# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one exception, fatal line or word of systemd means: text to a cause with its remedy.

The texts are those of the wheels 0.4.6 to 0.5.23 and of PyTorch.
"""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.llmops.sglang.plugins.module_utils import memory_advice
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import shorten

MISSING_PATH = re.compile(
    r"(?:Repo id must be in the form [^:]{0,80}: |Incorrect path_or_model_id: |No such file or directory: "
    r"|[Ll]ocal path not found: )'?([^'\s]{1,400})|^[\w.]{1,80}: (/\S{1,400}) does not appear to have a file named"
)
UNKNOWN_FLAGS = re.compile(r"error: unrecognized arguments: (.*)", re.DOTALL)
BAD_VALUE = re.compile(r"error: (argument .*)|(Unknown speculative algorithm name.*)", re.DOTALL)
NO_BUFFER_WITH_RADIX_CACHE = re.compile(r"not compatible with radix cache when using \S{1,60} no_buffer")
EXTRA_BUFFER_WITHOUT_RADIX_CACHE = re.compile(r"extra_buffer is not compatible with --disable-radix-cache")
TOPK_ABOVE_ONE = re.compile(r"Spec v2 currently only supports topk = 1")
UNKNOWN_MODEL = re.compile(
    r"no SGlang implementation|has no attribute 'set_embed_and_head'|is not a registered model"
    r"|^ValueError: Model architectures \["
)
NOT_FITTING = re.compile(
    r"size of tensor a \(\d{1,9}\) must match the size of tensor b|size mismatch|MTP draft .{0,80}must match"
    r"|shapes cannot be multiplied|draft requires --speculative-algorithm|must match the target"
)
OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|(?:CUDA|HIP|NPU) out of memory|CUDA error: out of memory")
NO_ROOM_FOR_CACHE = re.compile(r"Not enough memory\. Please try to increase|leave no GPU memory for the KV cache")
PORT_TAKEN = re.compile(r"\[Errno 98\]|[Aa]ddress already in use|used by a process already|[Pp]ort is already in use")
PORT_NUMBER = re.compile(r"\('[^']{0,80}', (\d{1,5})\)|[Pp]ort:? (\d{1,5})|_port at (\d{1,5})")
MEETING_PORT = "failed to listen on any local network address"
PORT_HOLDER = re.compile(r"process\.name\(\)='([^']{1,80})'.{0,4000}?\bpid=(\d{1,10})", re.DOTALL)
BUILD_TOOL = re.compile(
    r"Could not find nvcc|[Nn]inja is required|(?:nvcc|ninja)'?:? (?:command )?not found"
    r"|CUDA_HOME environment variable is not set|No such file or directory: '(?:[^']{0,200}/)?(nvcc|ninja)'"
)
DISTRIBUTED = re.compile(
    r"NCCL|Dist(?:Backend|Store|Network)Error|timed out after \d{1,12}\s?ms|didn't finish loading|[Gg]loo|ProcessGroup"
)


@dataclasses.dataclass(frozen=True)
class Cause:
    """``code`` is one of :data:`diagnosis.CODES`; ``evidence`` a list of :class:`~evidence.Evidence`."""

    code: str
    summary: str
    evidence: list
    remedy: str


def of_failure(failure, facts, dialect):
    """The :class:`Cause` of a :class:`facts.Failure`, or None when its text says nothing known."""
    for explain in EXPLANATIONS:
        known = explain(failure, facts, dialect)
        if known:
            code, summary, remedy = known
            return Cause(code, summary, [failure.evidence], remedy)
    return None


def of_unexplained(failure):
    """The cause of a failure whose text says nothing known."""
    text = shorten(failure.text)
    if failure.code == "watchdog":
        summary = "the scheduler made no step for too long: %s" % text
        return Cause("watchdog_timeout", summary, [failure.evidence], WATCHDOG_REMEDY)
    if failure.code == "exception" and failure.process in ("scheduler", "warm-up"):
        summary = "%s raised %s" % ("the warm-up" if failure.process == "warm-up" else "a scheduler", text)
        return Cause("scheduler_exception", summary, [failure.evidence], EXCEPTION_REMEDY)
    if failure.code == "exception":
        return Cause("main_exception", "the main process raised %s" % text, [failure.evidence], EXCEPTION_REMEDY)
    return Cause("child_died", text, [failure.evidence], CHILD_REMEDY)


def of_unit(facts):
    """The causes that systemd names."""
    causes = []
    result, evidence = facts.unit_result or (None, None)
    if result and result.result == "oom-kill":
        summary = "the kernel ran out of main memory and killed the server"
        causes.append(Cause("killed_by_oom_killer", summary, [evidence], OOM_REMEDY))
    if result and result.result == "start-limit-hit":
        summary = "systemd refuses to start the unit: too many starts"
        causes.append(Cause("start_limit_hit", summary, [evidence], START_LIMIT_REMEDY))
    if facts.unit_exit and facts.unit_exit[0].status.endswith("KILL"):
        causes.append(Cause("killed", "the main process was killed with SIGKILL", [facts.unit_exit[1]], KILLED_REMEDY))
    return causes


def of_notices(facts):
    """What a warning says that changes nothing, but is not what the operator meant."""
    evidence = facts.notices.get("environment_without_effect")
    if not evidence:
        return []
    summary = "SGLANG_ENABLE_SPEC_V2 is set, but has no effect in this release"
    return [Cause("environment_without_effect", summary, [evidence], SPEC_V2_REMEDY)]


def _missing_path(failure, facts, dialect):
    match = MISSING_PATH.search(failure.text)
    if not match or BUILD_TOOL.search(failure.text):
        return None
    path = match.group(1) or match.group(2)
    banner = facts.banner or {}
    is_draft = failure.in_draft or path == banner.get("speculative_draft_model_path")
    if is_draft and path != banner.get("model_path"):
        return (
            "draft_path_missing",
            "the draft model is not at %s" % path,
            "Put the draft model's checkpoint there on this node, or correct --speculative-draft-model-path.",
        )
    return (
        "model_path_missing",
        "there is no model at %s" % path,
        "Put the checkpoint there on this node (is the file system mounted?), or correct the path.",
    )


def _flag(failure, facts, dialect):
    match = UNKNOWN_FLAGS.search(failure.text)
    if not match:
        return None
    words = shorten(match.group(1).strip())
    for flag, (code, remedy) in MAMBA_FLAGS.items():
        if flag in words:
            return code, "this release does not take %s" % flag, remedy
    remedy = "Remove these flags, or run a release that has them."
    return "flag_unknown", "this release does not know: %s" % words, remedy


def _bad_value(failure, facts, dialect):
    match = BAD_VALUE.search(failure.text)
    if not match:
        return None
    words = shorten(match.group(1) or match.group(2))
    return "flag_value_invalid", "this release refuses a value: %s" % words, "Give that flag a value of this release."


def _no_buffer(failure, facts, dialect):
    if not NO_BUFFER_WITH_RADIX_CACHE.search(failure.text):
        return None
    return (
        "radix_cache_against_no_buffer",
        "speculation on this hybrid model needs extra_buffer, or no radix cache",
        "Set --mamba-scheduler-strategy extra_buffer and SGLANG_ENABLE_SPEC_V2=1 in the unit's environment (0.5.10 to"
        " 0.5.13 refuse to start without; from 0.5.11 on the variable is no longer needed).",
    )


def _extra_buffer(failure, facts, dialect):
    if not EXTRA_BUFFER_WITHOUT_RADIX_CACHE.search(failure.text):
        return None
    return (
        "extra_buffer_without_radix_cache",
        "extra_buffer and --disable-radix-cache exclude each other",
        "Remove --disable-radix-cache to keep extra_buffer, or remove the Mamba strategy.",
    )


def _topk(failure, facts, dialect):
    if not TOPK_ABOVE_ONE.search(failure.text):
        return None
    return (
        "topk_against_spec_v2",
        "spec v2 of this release takes --speculative-eagle-topk 1 only",
        "Set --speculative-eagle-topk 1, or remove SGLANG_ENABLE_SPEC_V2 and go without the overlap schedule.",
    )


def _unknown_model(failure, facts, dialect):
    if not UNKNOWN_MODEL.search(failure.text):
        return None
    if failure.in_draft or "set_embed_and_head" in failure.text:
        return (
            "architecture_without_mtp",
            "this release has no MTP for this architecture: %s" % shorten(failure.text),
            "Check `architectures` in the draft's config.json, and that this release derives an MTP class from it; else"
            " run a newer release, or this model without speculation.",
        )
    return (
        "architecture_unknown",
        "this release does not know the model's architecture: %s" % shorten(failure.text),
        "Run a release that supports it, or look above for an import error of its module.",
    )


def _not_fitting(failure, facts, dialect):
    if not NOT_FITTING.search(failure.text):
        return None
    return (
        "draft_does_not_fit",
        "draft and target model do not fit together: %s" % shorten(failure.text),
        "Use the draft checkpoint that was made for this target and this quantization.",
    )


def _out_of_memory(failure, facts, dialect):
    if not OUT_OF_MEMORY.search(failure.text):
        return None
    remedy = memory_advice.lower(facts) + (
        " Smaller --cuda-graph-max-bs or --max-running-requests save memory too; check that nothing else runs on the"
        " GPU."
    )
    return "out_of_memory", _with_figures("the GPU's memory ran out", facts, failure), remedy


def _no_room(failure, facts, dialect):
    if not NO_ROOM_FOR_CACHE.search(failure.text):
        return None
    remedy = memory_advice.higher(facts, failure.text) + (
        " If it is out of memory then, this GPU has no room for target, draft and cache: use more ranks or a smaller"
        " draft."
    )
    return "not_enough_memory", _with_figures("the weights left no room for the KV cache", facts, failure), remedy


def _port(failure, facts, dialect):
    if not PORT_TAKEN.search(failure.text):
        return None
    found = PORT_NUMBER.search(failure.text)
    port = next((number for number in found.groups() if number), "") if found else ""
    port = port or (str(facts.banner.number("port", "")) if facts.banner else "")
    holder = PORT_HOLDER.search(failure.text)
    by = " by %s (pid %s)" % holder.groups() if holder else ""
    flag = "--dist-init-addr" if MEETING_PORT in failure.text else "--port"
    remedy = "Stop what listens there (ss -ltnp shows it), or choose another %s." % flag
    return "port_in_use", "port %s is taken%s" % (port, by) if port else "a port is taken%s" % by, remedy


def _build_tool(failure, facts, dialect):
    if not BUILD_TOOL.search(failure.text):
        return None
    return (
        "build_tool_missing",
        "nvcc or ninja was not found: %s" % shorten(failure.text),
        "systemd starts services with a short PATH: set PATH with the virtual environment's bin and CUDA's bin, and"
        " CUDA_HOME, in the unit's environment.",
    )


def _distributed(failure, facts, dialect):
    if not DISTRIBUTED.search(failure.text):
        return None
    return (
        "distributed_timeout",
        "the ranks lost each other: %s" % shorten(failure.text),
        "Look for the rank that failed first or was slow to load; check --dist-init-addr, NCCL_SOCKET_IFNAME and"
        " GLOO_SOCKET_IFNAME, and restart all ranks of the group together.",
    )


def _with_figures(summary, facts, failure):
    figures = memory_advice.figures(facts)
    return "%s%s: %s" % (summary, " (%s)" % figures if figures else "", shorten(failure.text))


MAMBA_FLAGS = {
    "--mamba-scheduler-strategy": (
        "flag_removed",
        "Use --mamba-radix-cache-strategy, which replaced it in 0.5.14 (0.5.20 removed the old name; before 0.5.7 there"
        " is no such setting).",
    ),
    "--mamba-radix-cache-strategy": (
        "flag_unknown",
        "Use --mamba-scheduler-strategy on 0.5.7 to 0.5.13; the new name came with 0.5.14, and before 0.5.7 there is no"
        " such setting.",
    ),
    "--enable-beta-spec": (
        "flag_removed",
        "Only 0.5.4 has that switch: set SGLANG_ENABLE_SPEC_V2=1 on 0.5.5 to 0.5.10.",
    ),
}
EXPLANATIONS = (
    _flag,
    _bad_value,
    _no_buffer,
    _extra_buffer,
    _topk,
    _build_tool,
    _missing_path,
    _out_of_memory,
    _no_room,
    _port,
    _unknown_model,
    _not_fitting,
    _distributed,
)
WATCHDOG_REMEDY = (
    "Look for the last line of each rank before it; on a slow first start (kernels being compiled) raise"
    " --watchdog-timeout."
)
EXCEPTION_REMEDY = "Read the traceback in the unit's journal; the way back is the last known good unit."
CHILD_REMEDY = (
    "Look for the first error above this line; exit code -9 often means that main memory ran out (journalctl -k)."
)
OOM_REMEDY = "Free main memory, or raise MemoryMax in the unit; journalctl -k shows what was killed."
START_LIMIT_REMEDY = "Remove the cause above, then run `systemctl reset-failed` on the unit before the next start."
KILLED_REMEDY = (
    "Look in journalctl -k for the OOM killer; a stop that took longer than TimeoutStopSec ends like this too."
)
SPEC_V2_REMEDY = (
    "Remove the variable from the unit: speculation always runs spec v2 from 0.5.14 on, and --disable-overlap-schedule"
    " chooses the synchronous path."
)
