from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.filter import launch

SERVER = {
    "enabled": True,
    "python": "/opt/sglang/venv/bin/python",
    "model_path": "/models/a b",
    "draft_model_path": "/models/draft",
    "speculative_algorithm": "NEXTN",
    "tensor_parallel_size": 2,
    "sglang_version": "0.5.10",
    "draft_model_class": "Qwen3_5ForCausalLMMTP",
}


def test_the_command_is_quoted_for_systemd():
    assert '--model-path "/models/a b"' in launch.exec_start(SERVER)


def test_the_environment_is_one_line_per_variable():
    lines = launch.environment_lines(SERVER, {"GREETING": "a b"})
    assert 'Environment="GREETING=a b"' in lines
    assert "Environment=SGLANG_ENABLE_SPEC_V2=1" in lines


def test_what_makes_no_sense_is_one_sentence_before_anything_is_changed(tmp_path):
    assert launch.launch_mistake(SERVER) == ""
    assert "unknown key draft_rank" in launch.launch_mistake(SERVER, {"draft_rank": 4})
    assert "mtp_server_args" in launch.launch_mistake(dict(SERVER, server_args=7))
    assert "--port 5 and mtp_port is 30000" in launch.launch_mistake(dict(SERVER, port=30000, server_args="--port 5"))
    assert launch.launch_mistake(SERVER, None, ["", str(tmp_path / "hook.yml")]).startswith("There is no file")


def test_further_flags_that_can_not_be_words_are_refused():
    with pytest.raises(AnsibleFilterError, match="mtp_server_args"):
        launch.exec_start(dict(SERVER, server_args=7))


def test_each_kind_of_outcome_has_its_judge():
    assert launch.rollout_outcome({"restored": {"ready": True}}, "rollback")["verdict"] == "proven"
    assert launch.rollout_outcome({"verify": {"verdict": "inconclusive"}}, "audit")["verdict"] == "inconclusive"


def test_the_server_of_the_old_unit_is_asked_where_that_unit_listens():
    old = {"host": "0.0.0.0", "port": 31000, "tls": False}
    server = dict(SERVER, port=30000, host="0.0.0.0", server_args=["--ssl-certfile /a.pem"])
    assert launch.url_of_unit("https://127.0.0.1:30000", server, old) == "http://127.0.0.1:31000"


def test_a_mistake_in_the_variables_does_not_stop_the_way_back():
    old = {"host": "0.0.0.0", "port": 31000, "tls": False}
    server = dict(SERVER, server_args=7)
    assert launch.url_of_unit("http://127.0.0.1:30000", server, old) == "http://127.0.0.1:30000"
