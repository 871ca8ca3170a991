# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import socket

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import listener
from ansible_collections.llmops.sglang.plugins.modules import service_restart

UNIT = "sglang.service"


class Systemd:
    """A unit whose every start makes a new instance; remembers what it was told. ``gpu`` is what nvidia-smi prints."""

    def __init__(self):
        self.told = []
        self.loaded = "loaded"
        self.instance = 1
        self.starts = True
        self.group = ""
        self.dependents = ""
        self.gpu = None

    def run_command(self, command, **_options):
        verb, rest = command[1], command[2:]
        if command[0].endswith("nvidia-smi"):
            return (0, self.gpu, "") if self.gpu != "broken" else (9, "", "no driver")
        if verb == "show" and rest[0].startswith("--property=RequiredBy"):
            return 0, "ConsistsOf=%s\n" % self.dependents, ""
        if verb == "show":
            shown = "LoadState=%s\nActiveState=active\nSubState=running\nInvocationID=%s\nControlGroup=%s\n"
            return 0, shown % (self.loaded, "%032x" % self.instance, self.group), ""
        if verb == "is-active":
            return 0, "active\n" * (len(rest) - 1), ""
        self.told.append((verb, *rest[1:]))
        self.instance += verb == "start" and rest[1:] == [UNIT] and self.starts
        return 0, "", ""


@pytest.fixture
def systemd(monkeypatch):
    fake = Systemd()
    monkeypatch.setattr(service_restart.AnsibleModule, "run_command", fake.run_command)

    def program(_module, name):
        return "/usr/bin/" + name if fake.gpu is not None else None

    monkeypatch.setattr(service_restart.AnsibleModule, "get_bin_path", program)
    return fake


@pytest.fixture
def restart(run_module):
    return lambda **options: run_module(service_restart.main, **dict({"release_timeout": 0}, **options))


@pytest.fixture
def taken_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_restart_stops_clears_and_starts(systemd, restart):
    result = restart()
    assert (result["failed"], result["changed"], result["holders"]) == (False, True, [])
    assert systemd.told == [("stop", UNIT), ("reset-failed", UNIT), ("start", UNIT)]
    assert (result["previous_invocation_id"], result["instance"]["invocation_id"]) == ("%032x" % 1, "%032x" % 2)


def test_nothing_is_started_beside_a_process_that_holds_the_port(systemd, restart, taken_port):
    result = restart(port=taken_port)
    assert (result["failed"], result["changed"]) == (True, True)
    assert systemd.told == [("stop", UNIT)]
    assert result["holders"][0]["pid"] == os.getpid()
    assert "Port %d is held by process %d" % (taken_port, os.getpid()) in result["msg"]
    assert "does not belong to sglang.service" in result["msg"]
    assert result["msg"].endswith("sglang.service was stopped, and not started again.")


def test_a_free_port_is_no_hindrance(systemd, restart, taken_port):
    assert restart(port=taken_port, host="127.0.0.2")["failed"] is False


def test_nothing_is_started_while_the_old_instance_is_on_the_gpus(systemd, restart, monkeypatch):
    monkeypatch.setattr(listener, "is_in_cgroup", lambda process, _group: process.pid == os.getpid())
    systemd.gpu = "%d\n" % os.getpid()
    result = restart()
    assert systemd.told == [("stop", UNIT)]
    assert "GPU memory is held by process %d" % os.getpid() in result["msg"]
    assert "left over from sglang.service" in result["msg"]


def test_others_may_use_the_gpus(systemd, restart):
    systemd.group = "/system.slice/" + UNIT
    systemd.gpu = "%d\n" % os.getpid()
    assert restart()["failed"] is False


def test_an_nvidia_smi_that_fails_is_a_warning(systemd, restart, monkeypatch):
    warnings = []
    monkeypatch.setattr(service_restart.AnsibleModule, "warn", warnings.append)
    systemd.gpu = "broken"
    assert restart()["failed"] is False
    assert warnings == ["Who holds GPU memory could not be seen: nvidia-smi says no driver"]


def test_what_stopped_with_the_service_runs_again(systemd, restart):
    systemd.dependents = "exporter.service sidecar.service"
    restart()
    assert systemd.told[-1] == ("start", "exporter.service", "sidecar.service")


def test_a_start_without_a_new_instance_fails(systemd, restart):
    systemd.starts = False
    result = restart()
    assert result["failed"] is True
    assert "systemd started no new instance" in result["msg"]


def test_check_mode_touches_nothing(systemd, restart, taken_port):
    result = restart(port=taken_port, check_mode=True)
    assert (result["failed"], result["changed"], systemd.told) == (False, True, [])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"port": 70000}, "port is 70000: give a port"), ({"release_timeout": -1}, "release_timeout is -1: give")],
)
def test_bad_options_are_named(systemd, restart, options, words):
    result = restart(**options)
    assert result["failed"] is True
    assert words in result["msg"]
    assert systemd.told == []


def test_a_unit_that_does_not_exist_is_named(systemd, restart):
    systemd.loaded = "not-found"
    assert "There is no unit sglang.service" in restart()["msg"]
    assert systemd.told == []
