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
    "ExecMainCode",
    "ExecMainStatus",
    "FragmentPath",
    "ControlGroup",
    "NeedDaemonReload",
)

ALIVE_STATES = ("active", "activating", "reloading")


class ServiceError(Exception):
    """systemd could not be asked; the text is one sentence for the operator."""


@dataclasses.dataclass(frozen=True)
class ServiceInstance:
    """One reading of a unit. Times are systemd's own strings, ids are ``""`` and ``0`` when there is none."""

    unit: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    invocation_id: str
    main_pid: int
    restarts: int
    started_at: str
    exit_code: str
    exit_status: int
    fragment_path: str
    control_group: str
    needs_daemon_reload: bool

    @property
    def exists(self):
        return self.load_state == "loaded"

    @property
    def alive(self):
        return self.active_state in ALIVE_STATES

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
        exit_code=values.get("ExecMainCode", ""),
        exit_status=_number(values.get("ExecMainStatus")),
        fragment_path=values.get("FragmentPath", ""),
        control_group=values.get("ControlGroup", ""),
        needs_daemon_reload=values.get("NeedDaemonReload") == "yes",
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


def _number(text):
    return int(text) if text and text.isdigit() else 0
