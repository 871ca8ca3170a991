# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import socket
import threading

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import last_words, listener
from ansible_collections.llmops.sglang.plugins.modules import server_ready

SHOW = """LoadState={load}
ActiveState={state}
SubState={sub}
Result={result}
InvocationID={invocation_id}
MainPID={pid}
NRestarts=0
ExecMainStatus=1
ControlGroup={group}
"""


@pytest.fixture
def ready(run_module):
    def ready(url, **options):
        return run_module(server_ready.main, **dict({"url": url, "timeout": 15}, **options))

    return ready


@pytest.fixture
def systemd(monkeypatch):
    """What systemctl says of the unit: a dict that a test changes."""
    says = {
        "load": "loaded",
        "state": "active",
        "sub": "running",
        "result": "success",
        "invocation_id": "aaaa",
        "pid": 0,
        "group": "/system.slice/sglang.service",
    }

    def run_command(_module, command, **_options):
        assert command[:2] == ["systemctl", "show"]
        return 0, SHOW.format(**says), ""

    monkeypatch.setattr(server_ready.AnsibleModule, "run_command", run_command)
    return says


@pytest.fixture
def words(monkeypatch):
    """The journal of a dead instance; a list of the instances it was asked for."""
    asked = []

    def read(invocation_id, how):
        asked.append((invocation_id, how))
        cause = {
            "code": "draft_path_missing",
            "summary": "the draft path does not exist",
            "evidence": [],
            "remedy": "Mend it.",
        }
        return last_words.LastWords(["OSError: Repo id"], [cause])

    monkeypatch.setattr(last_words, "read_last_words", read)
    return asked


def test_a_server_that_starts_is_ready_when_it_has_generated(start_server, ready):
    result = ready(start_server(STANDIN_LOAD_SECONDS="0.6").url)
    assert (result["failed"], result["changed"], result["ready"]) == (False, False, True)
    assert [entry["state"] for entry in result["history"]] == ["503", "200"]
    assert result["proves"] == "generation"
    assert result["version"] == "0.5.23"
    assert result["instance"] is None
    assert result["listener"] is None
    assert result["seconds"] > 0


def test_check_mode_looks_just_the_same(mtp_server, ready):
    assert ready(mtp_server.url, check_mode=True)["ready"] is True


def test_a_loading_server_is_refused_first(ready, start_server):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    starter = threading.Thread(target=start_server, kwargs={"port": port})
    starter.start()
    result = ready("http://127.0.0.1:%d" % port)
    starter.join()
    assert result["ready"] is True
    assert result["history"][0]["state"] == "refused"
    assert result["history"][-1]["state"] == "200"


def test_models_are_listed_before_the_warm_up_ends_and_that_is_not_enough(start_server, ready):
    result = ready(start_server(STANDIN_LOAD_SECONDS="0.6").url, path="/v1/models")
    assert [entry["state"] for entry in result["history"]] == ["503", "200"]


def test_a_server_that_never_gets_ready_is_said_to_be_warming_up(start_server, ready):
    result = ready(start_server(fault="never-ready").url, timeout=1)
    assert (result["failed"], result["ready"], result["proves"]) == (True, False, "")
    assert "its warm-up did not end" in result["msg"]


def test_a_busy_server_is_not_dead(start_server, ready):
    result = ready(start_server(fault="busy-503").url, consecutive=2, interval=0.05)
    assert result["ready"] is True


def test_a_wrong_key_is_no_matter_of_waiting(start_server, ready):
    server = start_server("--api-key", "sk-the-right-one")
    result = ready(server.url, path="/v1/models", api_key="sk-the-wrong-one")
    assert result["failed"]
    assert "401 (Unauthorized)" in result["msg"]
    assert "sk-the" not in json.dumps({name: value for name, value in result.items() if name != "invocation"})
    assert ready(server.url, path="/v1/models", api_key="sk-the-right-one")["ready"] is True


def test_the_process_that_answers_belongs_to_the_instance(mtp_server, ready, systemd, monkeypatch):
    # A test can't put its process into the cgroup of a service.
    monkeypatch.setattr(listener, "parse_cgroup", lambda _text: (systemd["group"],))
    server = mtp_server
    systemd["pid"] = server.process.pid
    result = ready(server.url, unit="sglang.service", invocation_id="aaaa")
    assert result["ready"] is True
    assert (result["listener"]["pid"], result["listener"]["of_instance"]) == (server.process.pid, True)
    assert result["instance"] == {
        "invocation_id": "aaaa",
        "main_pid": server.process.pid,
        "state": "active (running)",
        "restarts": 0,
    }


def test_an_orphan_on_the_port_is_named_and_its_200_counts_for_nothing(start_server, ready, systemd):
    orphan = start_server("--api-key", "sk-of-the-orphan")
    result = ready(orphan.url, unit="sglang.service", timeout=2)
    assert (result["failed"], result["ready"]) == (True, False)
    assert "process %d" % orphan.process.pid in result["msg"]
    assert "sglang.launch_server" in result["msg"]
    assert "sk-of-the-orphan" not in json.dumps(result)
    assert [entry["state"] for entry in result["history"]] == ["foreign"]


def test_the_listener_is_left_alone_where_a_container_serves(mtp_server, ready, systemd):
    result = ready(mtp_server.url, unit="sglang.service", verify_listener=False)
    assert result["ready"] is True
    assert result["listener"] is None


def test_an_instance_that_dies_fails_at_once_with_its_last_words(ready, systemd, words, closed_port):
    threading.Timer(0.3, systemd.update, kwargs={"state": "failed", "sub": "failed", "result": "exit-code"}).start()
    result = ready(closed_port, unit="sglang.service", timeout=60)
    assert "is dead: failed (failed), result exit-code, exit status 1" in result["msg"]
    assert "Likely cause: the draft path does not exist." in result["msg"]
    assert result["journal"] == ["OSError: Repo id"]
    assert result["diagnosis"][0]["remedy"] == "Mend it."
    assert words == [("aaaa", "dead")]


def test_an_instance_that_is_replaced_fails_at_once(ready, systemd, words, closed_port):
    threading.Timer(0.3, systemd.update, kwargs={"invocation_id": "bbbb"}).start()
    result = ready(closed_port, unit="sglang.service", timeout=60)
    assert "replaced by bbbb" in result["msg"]
    assert words == [("aaaa", "replaced")]


def test_a_unit_that_does_not_exist_is_named(ready, systemd, closed_port):
    systemd.update(load="not-found", state="inactive", invocation_id="")
    result = ready(closed_port, unit="sglang.service")
    assert "There is no unit sglang.service" in result["msg"]
    assert "journal" not in result


def test_a_follower_is_left_to_its_journal(ready, systemd, closed_port):
    result = ready(closed_port, unit="sglang.service", node_rank=1)
    assert (result["failed"], result["ready"]) == (False, None)
    assert "rank 0" in result["reason"]
    assert result["instance"]["invocation_id"] == "aaaa"


def test_systemd_that_does_not_answer_is_said_as_such(ready, monkeypatch, closed_port):
    monkeypatch.setattr(server_ready.AnsibleModule, "run_command", lambda *_given, **_options: (1, "", "no bus"))
    result = ready(closed_port, unit="sglang.service")
    assert "systemd could not be asked about the unit sglang.service: no bus" in result["msg"]


@pytest.mark.parametrize(
    "options, clue",
    [
        ({"path": "health"}, "path is 'health'"),
        ({"timeout": 0}, "timeout is 0"),
        ({"invocation_id": "aaaa"}, "unit"),
        ({"url": "http://me:hunter2@gpu01"}, "no user, password"),
        ({"ca_path": "/nowhere/ca.pem"}, "ca_path is /nowhere/ca.pem"),
    ],
)
def test_bad_options_are_named(ready, options, clue):
    url = options.pop("url", "http://127.0.0.1:9")
    result = ready(url, **options)
    assert result["failed"]
    assert clue in result["msg"]
    assert "hunter2" not in result["msg"]
