"""The module as a whole, on real files; only systemd is played."""

from __future__ import annotations

import os
import time

import pytest
from ansible.module_utils import basic
from ansible_collections.llmops.sglang.plugins.module_utils import service, unit_file
from ansible_collections.llmops.sglang.plugins.modules import service_unit

KEY = "sk-of-the-unit-test"


class Systemd:
    """systemd with one service, which ``start`` starts from the unit on disk, ``age`` seconds ago."""

    def __init__(self, unit):
        self._unit = unit
        self._shown = "LoadState=loaded\nActiveState=inactive\n"
        self._fingerprint = ""

    def start(self, age=0):
        started = (time.monotonic() - age) * 1e6
        self._shown = (
            "LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=1\nExecMainStartTimestampMonotonic=%d\n"
            % started
        )
        self._fingerprint = unit_file.fingerprint(self._unit.read_text())

    def run(self, argv, **_options):
        return 0, self._shown if argv[1] == "show" else "", ""

    def environment(self, pid):
        return {unit_file.FINGERPRINT_VARIABLE: self._fingerprint} if pid == 1 else {}


class Node:
    def __init__(self, folder, systemd, run_module):
        self.folder = folder
        self.systemd = systemd
        self.config = folder / "server.yaml"
        self.unit = folder / "units" / "sglang.service"
        self.drop_in = folder / "units" / "sglang.service.d" / "limits.conf"
        self._run_module = run_module

    def content(self, port):
        return "[Service]\nExecStart=/x --port %d --config %s\n" % (port, self.config)

    def write(self, path, text, age=0):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age, time.time() - age))

    def __call__(self, state, check_mode=False, **options):
        folders = {"unit_directory": str(self.folder / "units"), "state_directory": str(self.folder / "state")}
        return self._run_module(service_unit.main, check_mode, state=state, **folders, **options)


@pytest.fixture
def node(tmp_path, monkeypatch, run_module):
    systemd = Systemd(tmp_path / "units" / "sglang.service")
    (tmp_path / "units").mkdir()
    monkeypatch.setattr(basic.AnsibleModule, "run_command", systemd.run)
    monkeypatch.setattr(service, "process_environment", systemd.environment)
    return Node(tmp_path, systemd, run_module)


@pytest.fixture
def old_server(node):
    """A server with a drop-in and a config file that has run for an hour."""
    node.write(node.unit, node.content(1), age=7200)
    node.write(node.drop_in, "old limits", age=7200)
    node.write(node.config, "api-key: %s\nold: 1\n" % KEY, age=7200)
    node.systemd.start(age=3600)


def proven_server(node):
    node("present", content=node.content(2))
    node.systemd.start()
    assert node("proven")["changed"]
    node.systemd.start(age=-5)


def test_a_deployment_that_changes_all_parts_goes_back_with_all(node, old_server):
    proven_server(node)
    proven = [path.read_text() for path in (node.unit, node.drop_in, node.config)]
    node.write(node.drop_in, "new limits", age=-60)
    node.write(node.config, "api-key: %s\nnew: 1\n" % KEY, age=-60)
    added = node.drop_in.with_name("added.conf")
    node.write(added, "added", age=-60)
    node("present", content=node.content(3))
    node.systemd.start(age=-90)

    predicted = node("restored", check_mode=True)
    assert [path.read_text() for path in (node.drop_in, added)] == ["new limits", "added"]
    back = node("restored")
    assert [path.read_text() for path in (node.unit, node.drop_in, node.config)] == proven
    assert not added.exists()
    assert (back["changed"], back["restart_needed"], back["port"]) == (True, True, 2)
    assert back["files"] == [str(node.unit), str(node.config), str(node.drop_in)]
    assert [part["before_header"] for part in back["diff"]] == [
        str(node.config),
        str(added),
        str(node.drop_in),
        str(node.unit),
    ]
    same = ("changed", "restart_needed", "restart_reason", "files", "diff", "unproven", "port")
    assert {name: predicted[name] for name in same} == {name: back[name] for name in same}
    assert not node("restored")["changed"]


def test_a_way_back_before_the_restart_leaves_the_running_server_alone(node, old_server):
    node("present", content=node.content(2))
    node.write(node.drop_in, "new limits")
    for check_mode in (True, False):
        back = node("restored", check_mode=check_mode)
        assert (back["changed"], back["restart_needed"]) == (True, False)
    assert node.drop_in.read_text() == "old limits"


def test_a_unit_that_is_back_already_but_was_written_since_the_start_needs_a_restart(node, old_server):
    node("present", content=node.content(2))
    node("restored")
    assert not node("restored")["restart_needed"]
    node.unit.touch()
    back = node("restored")
    assert not back["changed"]
    assert back["restart_reason"] == "the unit was written after the running instance had started"


@pytest.mark.parametrize("change", ["written", "removed"])
def test_the_next_attempt_after_a_way_back_still_knows_the_parts_that_run(node, old_server, change):
    node("present", content=node.content(2))
    node("restored")
    node.systemd.start(age=60)
    if change == "written":
        node.write(node.drop_in, "new limits")
    else:
        node.drop_in.unlink()
    node("present", content=node.content(3))
    node("restored")
    assert node.drop_in.read_text() == "old limits"


def test_parts_that_were_changed_by_hand_and_run_are_the_next_way_back(node, old_server):
    node("present", content=node.content(2))
    node("restored")
    node.write(node.drop_in, "edited")
    node.systemd.start(age=-60)
    node("present", content=node.content(3))
    node.write(node.drop_in, "new limits", age=-90)
    node("restored")
    assert node.drop_in.read_text() == "edited"


def test_no_key_of_a_part_is_in_a_result(node, old_server):
    node("present", content=node.content(2))
    node.write(node.config, "api-key: %s2\n" % KEY)
    back = node("restored")
    assert "old: 1" in str(back["diff"])
    assert KEY not in str(back)


@pytest.mark.parametrize("part", ["drop_in", "config"])
def test_a_part_that_is_newer_than_the_server_is_the_named_reason_for_a_restart(node, old_server, part):
    proven_server(node)
    assert node("present", content=node.content(2))["restart_needed"] is False
    path = getattr(node, part)
    node.write(path, "changed", age=-60)
    unit = node("present", content=node.content(2))
    kind = "drop-in" if part == "drop_in" else "file"
    assert unit["restart_reason"] == "the %s %s was written after the running instance had started" % (kind, path)
    assert unit["unproven"]
    node("restored")
    assert path.read_text() != "changed"


def test_a_part_with_an_old_date_is_a_reason_for_a_restart_too(node, old_server):
    proven_server(node)
    node.write(node.config, "changed: 1", age=7200)
    assert "another unit" in node("present", content=node.content(2))["restart_reason"]


def test_a_part_that_was_written_during_the_proof_is_not_noted_as_proven(node, old_server, monkeypatch):
    warnings = []
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, text: warnings.append(text))
    node("present", content=node.content(2))
    node.systemd.start(age=60)
    node.write(node.drop_in, "late")
    marked = node("proven")
    assert (marked["changed"], marked["unproven"]) == (False, True)
    assert len(warnings) == 1
    assert str(node.drop_in) in warnings[0]
    assert not (node.folder / "state" / "sglang.service" / "proven.service").exists()


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_host_that_was_never_deployed_to_has_nothing_to_restore(node, check_mode):
    node.write(node.unit, node.content(1))
    back = node("restored", check_mode=check_mode)
    assert back["nothing_to_restore"]
    assert (back["failed"], back["changed"], back["removed"], back["restart_needed"]) == (False, False, False, False)
    assert os.listdir(node.folder) == ["units"]


def test_a_host_without_a_unit_has_nothing_to_restore_and_no_server_to_ask(node):
    back = node("restored")
    assert (back["nothing_to_restore"], back["removed"], back["changed"]) == (True, True, False)


def test_an_unproven_unit_without_a_way_back_is_a_failure(node, old_server):
    node("present", content=node.content(2))
    for path in (node.folder / "state" / "sglang.service").glob("last_known_good.*"):
        path.unlink()
    back = node("restored")
    assert back["failed"]
    assert "There is no last known good of sglang.service" in back["msg"]


def test_a_deployed_host_has_something_to_restore(node, old_server):
    assert not node("present", content=node.content(2))["nothing_to_restore"]
    back = node("restored")
    assert not back["nothing_to_restore"]
    assert node.unit.read_text() == node.content(1)


def test_a_drop_in_with_the_command_line_says_where_the_server_listens(node, old_server):
    node.write(node.drop_in, "[Service]\nExecStart=\nExecStart=/y --port 7\n", age=7200)
    assert node("present", content=node.content(2))["port"] == 7
