from __future__ import annotations

import shlex

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import launch_command
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.text(min_size=1, alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")))


def launch(**changes):
    asked = {
        "enabled": True,
        "python": "/opt/sglang/venv/bin/python",
        "path": ["/usr/bin", "/bin"],
        "cuda_home": "/usr/local/cuda",
        "sglang_version": "0.5.12",
        "model_path": "/models/target",
        "draft_model_path": "/models/draft",
        "host": "0.0.0.0",
        "port": 30000,
        "tensor_parallel_size": 4,
        "mem_fraction_static": 0.75,
        "speculative_algorithm": "NEXTN",
        "num_steps": 3,
        "eagle_topk": 1,
        "num_draft_tokens": 4,
        "mamba_strategy": "extra_buffer",
        "server_args": [],
        "draft_model_class": "Qwen3_5ForCausalLMMTP",
        "draft_memory_gb": 1.91,
    }
    asked.update(changes)
    return asked


def flag_value(words, flag):
    return words[words.index(flag) + 1]


def test_the_command_asks_for_nextn_with_the_draft_model():
    words = launch_command.server_command(launch())
    assert words[:3] == ["/opt/sglang/venv/bin/python", "-m", "sglang.launch_server"]
    assert flag_value(words, "--speculative-algorithm") == "NEXTN"
    assert flag_value(words, "--speculative-draft-model-path") == "/models/draft"
    assert flag_value(words, "--mem-fraction-static") == "0.75"


def test_without_mtp_the_same_server_has_no_word_of_speculation():
    words = launch_command.server_command(launch(enabled=False))
    assert not [word for word in words if "speculative" in word or "mamba" in word or "draft" in word]
    assert flag_value(words, "--model-path") == "/models/target"
    assert flag_value(words, "--tp-size") == "4"


@pytest.mark.parametrize(
    ("release", "flag"),
    [
        ("0.5.9", "--mamba-scheduler-strategy"),
        ("0.5.13", "--mamba-scheduler-strategy"),
        ("0.5.14", "--mamba-radix-cache-strategy"),
        ("0.5.23", "--mamba-radix-cache-strategy"),
        ("", "--mamba-radix-cache-strategy"),
    ],
)
def test_the_mamba_flag_has_the_name_that_the_release_knows(release, flag):
    words = launch_command.server_command(launch(sglang_version=release))
    assert flag_value(words, flag) == "extra_buffer"


def test_a_release_without_the_mamba_flag_is_not_given_one_and_not_held_to_it():
    old = launch(sglang_version="0.5.5")
    assert not [word for word in launch_command.server_command(old) if "mamba" in word]
    assert "mamba_strategy" not in launch_command.launch_expectations(old)


@pytest.mark.parametrize(
    ("release", "needed"), [("0.5.9", True), ("0.5.10", True), ("0.5.12", False), ("0.5.23", False)]
)
def test_spec_v2_is_switched_on_only_where_the_release_needs_it(release, needed):
    assert ("SGLANG_ENABLE_SPEC_V2" in launch_command.server_environment(launch(sglang_version=release))) is needed


def test_the_environment_puts_the_servers_own_folder_first_and_lets_the_user_win():
    environment = launch_command.server_environment(launch(), {"CUDA_HOME": "/opt/cuda", "NCCL_DEBUG": 1})
    assert environment["PATH"].split(":")[0] == "/opt/sglang/venv/bin"
    assert environment["CUDA_HOME"] == "/opt/cuda"
    assert environment["NCCL_DEBUG"] == "1"


def test_expectations_follow_the_command_line():
    expect = launch_command.launch_expectations(launch())
    assert expect["speculative_algorithm"] == "EAGLE"
    assert expect["mamba_strategy"] == "extra_buffer"
    assert expect["disable_overlap_schedule"] is False
    assert expect["draft_ranks"] == 4
    assert expect["mem_fraction_static"] == 0.75


@pytest.mark.parametrize(
    ("server_args", "key", "value"),
    [
        (["--mem-fraction-static", "0.8"], "mem_fraction_static", 0.8),
        (["--mem-fraction-static=0.8"], "mem_fraction_static", 0.8),
        (["--tp", "8"], "draft_ranks", 8),
        (["--pp-size", "2"], "draft_ranks", 8),
        (["--nnodes", "2"], "draft_ranks", 2),
        (["--dp-size", "2"], "draft_ranks", 8),
        (["--dp-size", "2", "--enable-dp-attention"], "draft_ranks", 4),
        (["--disable-overlap-schedule"], "disable_overlap_schedule", True),
        (["--mamba-radix-cache-strategy", "no_buffer"], "mamba_strategy", "no_buffer"),
        (["--speculative-algorithm", "EAGLE3"], "speculative_algorithm", "EAGLE3"),
    ],
)
def test_a_further_flag_changes_what_is_expected_as_it_changes_what_is_asked(server_args, key, value):
    assert launch_command.launch_expectations(launch(server_args=server_args))[key] == value


def test_an_override_replaces_and_an_empty_one_leaves_unasserted():
    expect = launch_command.launch_expectations(launch(), {"draft_memory_gb": None, "mem_fraction_static": 0.5})
    assert "draft_memory_gb" not in expect
    assert expect["mem_fraction_static"] == 0.5


@pytest.mark.parametrize(
    ("given_args", "words"),
    [
        (None, []),
        ("", []),
        ("--context-length 8192 --name 'a b'", ["--context-length", "8192", "--name", "a b"]),
        (["--context-length", 8192], ["--context-length", "8192"]),
        (["--context-length 8192"], ["--context-length", "8192"]),
        (["--served-model-name", "it's, a (name)"], ["--served-model-name", "it's, a (name)"]),
        (["--x=a b"], ["--x=a b"]),
        ({"context_length": 8192}, ["--context-length", "8192"]),
        ({"trust-remote-code": True, "skip": False, "none": None}, ["--trust-remote-code"]),
        ({"lora-paths": ["a", "b"]}, ["--lora-paths", "a", "b"]),
        ([{"page-size": 64}], ["--page-size", "64"]),
    ],
)
def test_further_flags_come_as_words_a_string_or_a_dictionary(given_args, words):
    assert launch_command.further_words(given_args) == words


@given(WORDS)
def test_a_string_of_further_flags_is_split_as_a_shell_does(words):
    assert launch_command.further_words(shlex.join(words)) == words


@pytest.mark.parametrize("wrong", [7, 1.5, True, "--name 'unclosed"])
def test_further_flags_that_are_no_words_are_refused_by_name(wrong):
    with pytest.raises(launch_command.LaunchError, match="mtp_server_args"):
        launch_command.further_words(wrong)


def test_a_port_in_the_further_flags_that_contradicts_the_variable_is_refused():
    launch_command.check(launch())
    launch_command.check(launch(server_args=["--port", "30000"]))
    with pytest.raises(launch_command.LaunchError, match="--port 30005 and mtp_port is 30000"):
        launch_command.check(launch(server_args=["--port", "30005"]))
