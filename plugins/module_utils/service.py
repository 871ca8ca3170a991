# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: one systemd service instance, as ``systemctl show`` and ``/proc`` tell it now."""

from __future__ import annotations

import dataclasses
import os

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "InvocationID",
    "MainPID",
    "NRestarts",
    "ExecMainStartTimestamp",
    "ExecMainStartTimestampMonotonic",
    "ExecMainCode",
    "ExecMainStatus",
    "FragmentPath",
    "ControlGroup",
    "NeedDaemonReload",
    "ExecStart",
    "LogNamespace",
    "StandardOutput",
)

ALIVE_STATES = ("active", "activating", "reloading")


class ServiceError(Exception):
    """systemd could not be asked; the text is one sentence for the operator."""


@dataclasses.dataclass(frozen=True)
class ServiceInstance:
    """One reading of a unit.

    ``started_at`` is systemd's own string, ``started_monotonic``
    the same moment in seconds of CLOCK_MONOTONIC; ids are ``""`` and ``0`` when there is none."""

    unit: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    invocation_id: str
    main_pid: int
    restarts: int
    started_at: str
    started_monotonic: float
    exit_code: str
    exit_status: int
    fragment_path: str
    control_group: str
    needs_daemon_reload: bool
    executable: str = ""
    log_namespace: str = ""
    standard_output: str = ""

    @property
    def exists(self):
        return self.load_state == "loaded"

    @property
    def alive(self):
        return self.active_state in ALIVE_STATES

    def fate_of(self, invocation_id):
        """What has become of that instance of the unit: ``alive``, ``dead`` or ``replaced`` by a later instance."""
        if self.invocation_id not in ("", invocation_id):
            return "replaced"
        # Between a crash and the restart that Restart= brings, systemd calls the unit activating.
        waits_for_restart = self.sub_state.startswith("auto-restart")
        return "alive" if self.invocation_id and self.alive and not waits_for_restart else "dead"

    def summary(self):
        """The part of a reading that results show: ``invocation_id``, ``main_pid``, ``state``, ``restarts``."""
        return {
            "invocation_id": self.invocation_id,
            "main_pid": self.main_pid,
            "state": "%s (%s)" % (self.active_state, self.sub_state),
            "restarts": self.restarts,
        }


def parse_show(unit, text):
    """``systemctl show`` output (lines ``Name=value``) to a :class:`ServiceInstance`."""
    values = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    return ServiceInstance(
        unit=unit,
        load_state=values.get("LoadState", ""),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        invocation_id=values.get("InvocationID", ""),
        main_pid=_number(values.get("MainPID")),
        restarts=_number(values.get("NRestarts")),
        started_at=values.get("ExecMainStartTimestamp", ""),
        started_monotonic=_number(values.get("ExecMainStartTimestampMonotonic")) / 1e6,
        exit_code=values.get("ExecMainCode", ""),
        exit_status=_number(values.get("ExecMainStatus")),
        fragment_path=values.get("FragmentPath", ""),
        control_group=values.get("ControlGroup", ""),
        needs_daemon_reload=values.get("NeedDaemonReload") == "yes",
        executable=_executable(values.get("ExecStart", "")),
        log_namespace=values.get("LogNamespace", ""),
        standard_output=values.get("StandardOutput", ""),
    )


def read_instance(run_command, unit):
    """Ask systemd about ``unit`` now.

    :arg run_command: like ``AnsibleModule.run_command``: takes an argument list, returns ``(rc, out, err)``.
    :raises ServiceError: when systemd does not answer. A unit that does not exist is no error here:
        its ``load_state`` says ``not-found``.
    """
    rc, out, err = run_command(["systemctl", "show", "--property=" + ",".join(PROPERTIES), "--", unit])
    if rc != 0:
        raise ServiceError("systemd could not be asked about the unit %s: %s" % (unit, (err or out).strip()))
    return parse_show(unit, out)


def process_environment(pid):
    """The environment that process ``pid`` was started with; empty when it is gone or may not be read."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as environ:
            entries = environ.read().split(b"\0")
    except OSError:
        return {}
    decoded = (os.fsdecode(entry) for entry in entries if b"=" in entry)
    return dict(entry.partition("=")[::2] for entry in decoded)


def process_command(pid):
    """The command line of process ``pid``, its words separated by spaces; empty when it is gone or may not be read."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as command:
            return os.fsdecode(command.read()).replace("\0", " ")
    except OSError:
        return ""


def _executable(exec_start):
    """The program of ``{ path=/opt/sglang/venv/bin/python ; argv[]=… }``. The arguments may hold secrets: left out."""
    _before, found, rest = exec_start.partition("path=")
    return rest.partition(" ;")[0] if found else ""


def _number(text):
    return int(text) if text and text.isdigit() else 0
