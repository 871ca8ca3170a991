# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""For the flags of a captured start, the stand-in says what that start said: every field, every line before."""

from __future__ import annotations

import ast
import re
import shlex

import pytest
from sglang.arguments import parse_arguments
from sglang.banner import banner, read_template
from sglang.checkpoints import Checkpoint
from sglang.releases import Release
from sglang.resolution import Resolution

REFERENCE = "--model-path /shared/models/Qwen3.5-122B-A10B --tp-size 4"
NEXTN = (
    REFERENCE
    + " --speculative-algorithm NEXTN --speculative-draft-model-path /shared/models/Qwen3.5-122B-A10B-MTP"
)
OLD_EXTRA_BUFFER = " --mamba-scheduler-strategy extra_buffer"
EXTRA_BUFFER = " --mamba-radix-cache-strategy extra_buffer"
TINY = (
    "--device cpu --model-path /shared/models/tiny-qwen3.5 --load-format dummy --mem-fraction-static 0.1 "
    "--max-total-tokens 20000 --speculative-algorithm NEXTN --speculative-draft-model-path /shared/models/tiny-qwen3.5 "
    "--disable-radix-cache --decode-log-interval 5 --enable-metrics"
)
SPEC_V2 = {"SGLANG_ENABLE_SPEC_V2": "1"}
ALPHABET = (
    "--device cpu --model-path /shared/models/alphabet/good --mem-fraction-static 0.1 --max-total-tokens 20000 "
    "--disable-radix-cache --max-running-requests 48 --decode-log-interval 5 --enable-metrics "
    "--speculative-algorithm NEXTN --speculative-draft-model-path /shared/models/alphabet/good "
    "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 "
    "--tp-size 2 --nnodes 2 --dist-init-addr 127.0.0.1:31999"
)
TWO_KEYS = " --port 31112 --api-key userkey --admin-api-key adminkey --tp-size 2"
ODD_NAME = "--api-key sk-secret --mem-fraction-static 0.75 --served-model-name " + shlex.quote(
    "it's, a (name), 'mem_fraction_static': 0.99"
)

# captured log: release, flags, environment. The flags are those of its provenance note.
STARTS = {
    "0.5.9-nospec.log": (REFERENCE, {}),
    "0.5.9-nextn.log": (NEXTN + OLD_EXTRA_BUFFER, SPEC_V2),
    "0.5.9-nextn-noenv-nostrategy.log": (NEXTN, {}),
    "0.5.10-nextn.log": (NEXTN + OLD_EXTRA_BUFFER, SPEC_V2),
    "0.5.10-nextn-noenv-extrabuffer.log": (NEXTN + OLD_EXTRA_BUFFER, {}),
    "0.5.12-nospec.log": (REFERENCE, {}),
    "0.5.12-nextn.log": (NEXTN + OLD_EXTRA_BUFFER, SPEC_V2),
    "0.5.12-nextn-topk4.log": (
        NEXTN
        + OLD_EXTRA_BUFFER
        + " --speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8",
        {},
    ),
    "0.5.12-realserver-nextn-crash-after-draft-load.log": (TINY + " --port 31113", {}),
    "0.5.14-nospec.log": (REFERENCE, {}),
    "0.5.14-nextn.log": (NEXTN + OLD_EXTRA_BUFFER, SPEC_V2),
    "0.5.18-nospec.log": (REFERENCE, {}),
    "0.5.18-nextn.log": (NEXTN + OLD_EXTRA_BUFFER, SPEC_V2),
    "0.5.18-realserver-nextn.log": (TINY + " --port 31144", {}),
    "0.5.19-nospec.log": (REFERENCE, {}),
    "0.5.19-nextn.log": (NEXTN + EXTRA_BUFFER, SPEC_V2),
    "0.5.23-nospec.log": (REFERENCE, {}),
    "0.5.23-nextn.log": (NEXTN + EXTRA_BUFFER, SPEC_V2),
    "0.5.23-nextn-disable-overlap.log": (NEXTN + " --disable-overlap-schedule", {}),
    "0.5.23-nextn-quotes-apikey.log": (NEXTN + " " + ODD_NAME, {}),
    "0.5.23-realserver-nextn-tp2-keys.log": (TINY + TWO_KEYS, {}),
    "0.5.23-realserver-two-nodes-0.log": (ALPHABET + " --node-rank 0 --port 31000", {}),
    "0.5.23-realserver-two-nodes-1.log": (ALPHABET + " --node-rank 1 --port 31001", {}),
    "0.5.23-realserver-nodes-missing.log": (ALPHABET + " --node-rank 1 --port 31001 --dist-timeout 15", {}),
}
DRAWN_ANEW = {"random_seed"}
# A real server of 0.5.22 or newer redacts these; the captures that only resolved arguments did not come that far.
REDACTED = {"watermark_config", "watermark_key", "watermark_key_b"}
# The stand-in knows what a GPU gets, a real server on a CPU gets less of it.
SIZED_FOR_CPU = {
    "chunked_prefill_size",
    "cuda_graph_bs",
    "cuda_graph_config",
    "cuda_graph_max_bs",
    "flashinfer_allreduce_fusion_backend",
    "piecewise_cuda_graph_max_tokens",
    "piecewise_cuda_graph_tokens",
    "sampling_backend",
}
ABOUT_THE_MACHINE = re.compile(
    r"Failed to load|Fail to set RLIMIT|SGLANG_CPU_OMP_THREADS_BIND|^W\d{4}|UserWarning|^  |launch_server.py"
)


def fields_of(line: str) -> dict:
    tree = ast.parse(line.partition("server_args=")[2], mode="eval").body
    if isinstance(tree, ast.Call):
        return {word.arg: ast.unparse(word.value) for word in tree.keywords}
    return {ast.literal_eval(key): ast.unparse(value) for key, value in zip(tree.keys, tree.values)}


def checkpoint(path: str) -> Checkpoint:
    dense = "Qwen3_5ForConditionalGeneration"
    return Checkpoint(path, dense if "tiny" in path or "alphabet" in path else "Qwen3_5MoeForConditionalGeneration")


def resolved(name: str, flags: str, environ: dict) -> tuple[Release, dict, list[str]]:
    release = Release(name.partition("-")[0])
    template = read_template(release)
    given, lines = parse_arguments(shlex.split(flags), release, template)

    def say(level: str, text: str) -> None:
        if level != "info" or release.stamps_early_warnings:
            lines.append(text)

    fields = Resolution(given, template, release, environ, checkpoint, say).fields
    return release, fields, lines


@pytest.mark.parametrize("name", STARTS)
def test_banner_equals_the_captured_one_field_by_field(captured, name):
    release, fields, _lines = resolved(name, *STARTS[name])
    real = fields_of(next(line for line in (captured / name).read_text().splitlines() if "server_args=" in line))
    ours = fields_of(banner(fields, release))
    free = DRAWN_ANEW | REDACTED | (SIZED_FOR_CPU if "realserver" in name else set())
    assert list(ours) == list(real)
    assert {field: ours[field] for field in ours if field not in free} == {
        field: real[field] for field in real if field not in free
    }


@pytest.mark.parametrize("name", STARTS)
def test_lines_before_the_banner_are_the_captured_ones(captured, name):
    _release, _fields, ours = resolved(name, *STARTS[name])
    before = (captured / name).read_text().partition("server_args=")[0].splitlines()[:-1]
    real = [re.sub(r"^\[[^]]*\] |\x1b\[[0-9;]*m", "", line) for line in before]
    real = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in real if not ABOUT_THE_MACHINE.search(line)]
    assert ours == real


def test_0_5_10_refuses_no_buffer_with_speculation_in_the_captured_words(captured):
    last_line = (captured / "0.5.10-nextn-noenv-nostrategy.log").read_text().splitlines()[-1]
    with pytest.raises(ValueError) as refusal:
        resolved("0.5.10", NEXTN, {})
    assert f"ValueError: {refusal.value}" == last_line


@pytest.mark.parametrize(
    "release, words", [("0.5.18", "not compatible with overlap schedule, speculative"), ("0.5.23", "only supported on")]
)
def test_speculation_is_refused_with_pipeline_parallelism(release, words):
    with pytest.raises(AssertionError, match=words):
        resolved(release, NEXTN + " --pp-size 2", {})


@pytest.mark.parametrize("release", ["0.5.9", "0.5.10", "0.5.12", "0.5.14", "0.5.18", "0.5.19", "0.5.23"])
def test_without_flags_no_template_shows_speculation(release):
    _release, fields, _lines = resolved(release, REFERENCE, SPEC_V2)
    speculation = ("algorithm", "draft_model_path", "draft_model_revision", "num_steps", "eagle_topk")
    assert [fields["speculative_" + name] for name in speculation] == [None] * 5
    assert fields["max_running_requests"] is None


@pytest.mark.parametrize(
    "release, strategy, spec_v2, overlap_disabled",
    [
        ("0.5.11", "extra_buffer", None, False),
        ("0.5.11", "extra_buffer", "0", True),
        ("0.5.13", "extra_buffer", None, False),
        ("0.5.13", "extra_buffer", "0", True),
        ("0.5.16", "no_buffer", None, True),
        ("0.5.16", "auto", "0", False),
    ],
)
def test_releases_between_the_captured_ones(release, strategy, spec_v2, overlap_disabled):
    flag = "--mamba-radix-cache-strategy" if release > "0.5.13" else "--mamba-scheduler-strategy"
    environ = {} if spec_v2 is None else {"SGLANG_ENABLE_SPEC_V2": spec_v2}
    _release, fields, _lines = resolved(release, f"{NEXTN} {flag} {strategy}", environ)
    assert fields["speculative_algorithm"] == "EAGLE"
    assert fields["disable_overlap_schedule"] is overlap_disabled


def test_a_release_older_than_all_templates_is_refused():
    with pytest.raises(ValueError, match=r"0\.5\.3 is older than 0\.5\.9"):
        Release("0.5.3")


def test_post_releases_are_their_release():
    assert Release("0.5.13.post1").mamba_field == "mamba_scheduler_strategy"
