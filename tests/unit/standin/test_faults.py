# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault fails as it says, and nothing else about the server is different."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from sglang.faults import NAMES

STANDIN = Path(__file__).resolve().parents[2] / "standin"
DRAFT = "type=Qwen3_5ForCausalLMMTP"


def banner_of(standin) -> dict:
    line = next(line for line in standin.log if "server_args=" in line)
    return ast.literal_eval(line.partition("server_args=")[2])


def loads(standin, model: str) -> int:
    return sum("Load weight end" in line and model in line for line in standin.log)


@pytest.mark.parametrize(
    "fault, field, shown",
    [
        ("algorithm-other", "speculative_algorithm", "EAGLE3"),
        ("mamba-no-buffer", "mamba_radix_cache_strategy", "no_buffer"),
        ("overlap-disabled", "disable_overlap_schedule", True),
        ("mem-fraction-other", "mem_fraction_static", 0.85),
    ],
)
def test_one_field_of_the_banner_is_flipped_and_no_other(ready, fault, field, shown):
    healthy, faulty = (ready("--mem-fraction-static", "0.75", fault=name) for name in ("", fault))
    right, wrong = banner_of(healthy), banner_of(faulty)
    assert {name for name in right if right[name] != wrong[name]} == {field, "port", "random_seed"}
    assert wrong[field] == shown
    assert faulty.status("/health") == 200


def test_flags_ignored(ready):
    standin = ready(fault="flags-ignored")
    assert banner_of(standin)["speculative_algorithm"] is None
    assert loads(standin, DRAFT) == 0
    assert "spec_verify_ct" not in standin.generate()["meta_info"]


@pytest.mark.parametrize(
    "fault, drafts", [("", 4), ("draft-not-loaded", 0), ("draft-missing-rank", 3), ("draft-other-class", 0)]
)
def test_draft_loads(ready, fault, drafts):
    standin = ready("--tp-size", "4", fault=fault)
    assert banner_of(standin)["speculative_algorithm"] == "EAGLE"
    assert loads(standin, DRAFT) == drafts
    assert loads(standin, "type=Qwen3_5MoeForConditionalGeneration") == 4
    assert loads(standin, "type=LlamaForCausalLM") == (4 if fault == "draft-other-class" else 0)


MISSING = "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{}'. Use `repo_type` argument"


def test_a_missing_draft_folder_ends_the_start_before_the_banner(start, model):
    standin = start("--speculative-draft-model-path", model["missing"])
    assert standin.wait_for_end() == 1
    assert standin.log[-1].startswith(MISSING.format(model["missing"]))
    assert not [line for line in standin.log if "server_args=" in line]


def test_before_0_5_12_a_missing_draft_folder_is_found_by_the_scheduler(start, model):
    flags = ["--mamba-scheduler-strategy", "extra_buffer", "--speculative-draft-model-path", model["missing"]]
    standin = start(*flags, release="0.5.10")
    assert standin.wait_for_end() == -9
    assert [line for line in standin.log if "server_args=" in line]
    assert [line for line in standin.log if line.startswith(MISSING.format(model["missing"]))]


def test_a_missing_model_folder_ends_the_start_before_the_banner(start, model):
    standin = start("--model-path", model["missing"], mtp=False)
    assert standin.wait_for_end() == 1
    assert standin.log[-1].startswith(MISSING.format(model["missing"]))
    assert "speculative" not in "".join(standin.log)


def test_an_unknown_draft_architecture_dies_after_the_target_was_loaded(start, model):
    standin = start("--speculative-draft-model-path", model["unheard-of"])
    assert standin.wait_for_end() == -9
    assert loads(standin, "type=Qwen3_5Moe") == 1
    assert [line for line in standin.log if "'UnheardOfForCausalLM' is not a registered model" in line]


def test_0_5_10_refuses_no_buffer_before_the_banner(start):
    standin = start(release="0.5.10")
    assert standin.wait_for_end() == 1
    assert standin.log[0] == "Traceback (most recent call last):"
    assert standin.log[-1].startswith("ValueError: Speculative decoding for Qwen3_5MoeForConditionalGeneration")


@pytest.mark.parametrize(
    "release, fault, code, words",
    [
        ("0.5.23", "draft-missing", 1, "OSError: Repo id must be in the form"),
        ("0.5.23", "crash-after-draft-load", -9, "AssertionError: Torch not compiled with CUDA enabled"),
        ("0.5.23", "oom", -9, "torch.OutOfMemoryError: CUDA out of memory."),
        ("0.5.23", "not-enough-memory", -9, "ValueError: Loaded weights leave no GPU memory for the KV cache"),
        ("0.5.14", "not-enough-memory", -9, "RuntimeError: Not enough memory. Please try to increase --mem-fraction"),
        ("0.5.23", "crash-in-warmup", -9, "SIGQUIT received. signum=None, frame=None."),
    ],
)
def test_dying_before_readiness(start, release, fault, code, words):
    standin = start(release=release, fault=fault)
    assert standin.wait_for_end() == code
    assert [line for line in standin.log if words in line]
    assert not [line for line in standin.log if "fired up" in line]


def test_a_memory_fraction_below_the_weights_needs_no_fault(start):
    standin = start("--mem-fraction-static", "0.6")
    assert standin.wait_for_end() == -9
    message = next(line for line in standin.log if "leave no GPU memory" in line)
    assert "--mem-fraction-static=0.6. Raise --mem-fraction-static above 0.667" in message


def test_a_flaky_start_fails_once_in_n(start, ready, tmp_path):
    state = {"fault": "start-fails-once-in=2", "STANDIN_STATE_FILE": str(tmp_path / "starts")}
    assert start(**state).wait_for_end() == -9
    assert ready(**state).status("/health") == 200
    assert start(**state).wait_for_end() == -9


def test_faults_can_spare_the_server_without_mtp(start, ready):
    words = {"fault": "crash-in-warmup", "STANDIN_FAULT_NEEDS_MTP": "1"}
    assert start(**words).wait_for_end() == -9
    assert ready(mtp=False, **words).status("/health") == 200


def test_never_ready_can_be_stopped(start):
    standin = start(fault="never-ready")
    standin.wait_for("GET /model_info")
    assert standin.status("/health") == 503
    assert standin.stop() == 0


def test_ready_then_dead(ready):
    standin = ready(fault="ready-then-dead", STANDIN_FAULT_SECONDS="0.1")
    assert standin.wait_for_end() == -9
    assert [line for line in standin.log if "Scheduler hit an exception: Traceback" in line]


def test_crash_on_first_request_leaves_health_checks_alone(ready):
    standin = ready(fault="crash-on-first-request")
    assert standin.status("/health") == 200
    with pytest.raises(OSError):
        standin.generate()
    assert standin.wait_for_end() == -9


def test_hang_on_request(ready):
    standin = ready(fault="hang-on-request=2")
    assert standin.generate()["meta_info"]["completion_tokens"] == 64
    for _request in range(2):
        with pytest.raises(OSError, match="timed out"):
            standin.generate(timeout=0.3)
    assert standin.status("/health") == 200
    assert standin.stop() == 0, "a request whose client went away is not waited for"


def test_busy_503_is_one_off(ready):
    standin = ready(fault="busy-503")
    assert [standin.status("/health") for _check in range(6)] == [200, 200, 503, 200, 200, 503]
    standin.wait_for("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.")


@pytest.mark.parametrize("asked, length", [(None, 64 / 63), ("1.1", 64 / 58)])
def test_accept_nothing(ready, asked, length):
    environ = {} if asked is None else {"STANDIN_ACCEPT_LENGTH": asked}
    standin = ready(fault="accept-nothing", **environ)
    assert banner_of(standin)["speculative_algorithm"] == "EAGLE"
    assert loads(standin, DRAFT) == 1
    meta = standin.generate()["meta_info"]
    assert meta["spec_accept_length"] == pytest.approx(length)
    assert (meta["spec_num_correct_drafts"] == 0) is (asked is None)


def test_garbage_is_steady_and_no_text(ready):
    healthy, faulty = ready(), ready(fault="garbage-output")
    garbage = faulty.generate()["text"]
    assert garbage == faulty.generate()["text"] != healthy.generate()["text"]
    assert not re.search("[a-z]{2}", garbage)


def test_unsteady_output_differs_from_the_second_time_on(ready):
    healthy, faulty = ready(), ready(fault="unsteady-output")
    first, second = faulty.generate()["text"], faulty.generate()["text"]
    assert first == healthy.generate()["text"] != second


def test_the_readme_explains_every_fault():
    text = (STANDIN / "README.md").read_text()
    assert [name for name in NAMES if f"| `{name}" not in text] == []
