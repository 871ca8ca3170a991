from __future__ import annotations

import os

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import service

SHOWN = """LoadState=loaded
ActiveState=active
SubState=running
Result=success
InvocationID=0123456789abcdef0123456789abcdef
MainPID=4711
NRestarts=2
ExecMainStartTimestamp=Sun 2026-11-29 16:00:00 UTC
ExecMainStartTimestampMonotonic=12500000
FragmentPath=/etc/systemd/system/sglang.service
ControlGroup=/system.slice/sglang.service
NeedDaemonReload=yes
"""


def test_a_reading_is_typed():
    seen = service.parse_show("sglang.service", SHOWN)
    assert seen.exists and seen.alive and seen.needs_daemon_reload
    assert seen.started_monotonic == 12.5
    assert seen.summary() == {
        "invocation_id": "0123456789abcdef0123456789abcdef",
        "main_pid": 4711,
        "state": "active (running)",
        "restarts": 2,
    }


def test_a_unit_that_does_not_exist_is_a_reading_and_no_error():
    seen = service.read_instance(lambda argv: (0, "LoadState=not-found\nActiveState=inactive\n", ""), "x.service")
    assert not seen.exists and not seen.alive and seen.main_pid == 0


def test_a_systemd_that_does_not_answer_is_said():
    with pytest.raises(service.ServiceError, match="x.service.*bus is down"):
        service.read_instance(lambda argv: (1, "", "bus is down\n"), "x.service")


def test_a_unit_name_is_never_read_as_an_option():
    asked = []
    service.read_instance(lambda argv: (asked.append(argv) or (0, "", "")), "--force")
    assert asked[0][-2:] == ["--", "--force"]


def test_the_environment_of_a_process_is_what_it_was_started_with():
    assert service.process_environment(os.getpid()).get("PATH")


def test_a_process_that_is_gone_has_no_environment():
    assert service.process_environment(2**22 + 1) == {}


INSTANCE = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("state", "fate"),
    [
        ("ActiveState=active\nSubState=running", "alive"),
        ("ActiveState=activating\nSubState=start-pre", "alive"),
        ("ActiveState=activating\nSubState=auto-restart", "dead"),
        ("ActiveState=activating\nSubState=auto-restart-queued", "dead"),
        ("ActiveState=deactivating\nSubState=stop-sigterm", "dead"),
        ("ActiveState=failed\nSubState=failed", "dead"),
    ],
)
def test_what_has_become_of_an_instance(state, fate):
    assert service.parse_show("x.service", "InvocationID=%s\n%s\n" % (INSTANCE, state)).fate_of(INSTANCE) == fate


def test_another_instance_in_its_place_has_replaced_it():
    seen = service.parse_show("x.service", "InvocationID=%s\nActiveState=active\nSubState=running\n" % ("f" * 32))
    assert seen.fate_of(INSTANCE) == "replaced"


def test_a_unit_that_systemd_has_forgotten_has_no_living_instance():
    assert (
        service.parse_show("x.service", "InvocationID=\nActiveState=inactive\nSubState=dead\n").fate_of(INSTANCE)
        == "dead"
    )


def test_of_the_command_line_only_the_program_is_kept():
    seen = service.parse_show(
        "x.service",
        "ExecStart={ path=/opt/sglang/venv/bin/python ; argv[]=python --api-key sk-1 ; ignore_errors=no }\n",
    )
    assert seen.executable == "/opt/sglang/venv/bin/python"
    assert "sk-1" not in repr(seen)
