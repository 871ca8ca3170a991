from __future__ import annotations

import json
import sys

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import node


def test_a_model_folder_tells_its_architecture(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Qwen3_5MoeForConditionalGeneration"]}))
    model = node.read_model("mtp_model_path", str(tmp_path))
    assert model.architecture == "Qwen3_5MoeForConditionalGeneration"
    assert not model.problems


def test_a_missing_path_a_file_and_a_folder_without_config_are_each_named(tmp_path):
    (tmp_path / "file").write_text("")
    for path, clue in [("gone", "does not exist"), ("file", "no folder"), ("", "no config.json")]:
        (problem,) = node.read_model("mtp_model_path", str(tmp_path / path)).problems
        assert problem.startswith("mtp_model_path is %s" % (tmp_path / path))
        assert clue in problem


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "\0"])
def test_a_config_that_is_no_json_object_is_a_problem(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    (problem,) = node.read_model("mtp_model_path", str(tmp_path)).problems
    assert "config.json" in problem


def test_no_path_is_no_problem():
    assert node.read_model("mtp_draft_model_path", None) == node.ModelFolder("", ())


def test_the_release_is_read_from_the_package_beside_the_interpreter(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/python3.11/site-packages/sglang-0.5.12.dist-info").mkdir(parents=True)
    (tmp_path / "lib/python3.11/site-packages/sglang_router-0.3.2.dist-info").mkdir()
    assert node.sglang_version(str(tmp_path / "bin" / "python")) == "0.5.12"


def test_an_unknown_release_is_empty(tmp_path):
    assert node.sglang_version(str(tmp_path / "bin" / "python")) == ""


def test_the_first_interpreter_with_requests_is_taken():
    def run(argv):
        return (0 if argv[0] == sys.executable else 1), "", ""

    assert node.find_requests(run, ["/nowhere/python", "/bin/sh", sys.executable]) == sys.executable
    assert node.find_requests(run, ["/bin/sh"]) == ""


@pytest.mark.parametrize(("port", "good"), [(1, True), (65535, True), (0, False), (65536, False), (-1, False)])
def test_a_port_has_to_be_one(port, good):
    assert (node.port_problems(port) == []) is good


def shown(**properties):
    return lambda argv: (0, "".join("%s=%s\n" % entry for entry in properties.items()), "")


def test_a_masked_unit_is_left_to_whoever_masked_it():
    (problem,) = node.unit_problems(shown(LoadState="masked", DropInPaths=""), "sglang.service")
    assert "systemctl unmask sglang.service" in problem


def test_a_drop_in_that_replaces_the_command_line_is_named_and_others_are_not(tmp_path):
    (tmp_path / "command.conf").write_text("[Service]\nExecStart=\nExecStart=/bin/sleep 1\n")
    (tmp_path / "limits.conf").write_text("[Service]\nLimitNOFILE=1\n#ExecStart=/x\n")
    paths = "%s %s" % (tmp_path / "command.conf", tmp_path / "limits.conf")
    (problem,) = node.unit_problems(shown(LoadState="loaded", DropInPaths=paths), "sglang.service")
    assert str(tmp_path / "command.conf") in problem


def test_a_unit_without_drop_ins_and_no_unit_at_all_are_no_problem():
    assert node.unit_problems(shown(LoadState="not-found", DropInPaths=""), "sglang.service") == []
    assert node.unit_problems(None, None) == []
