#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_restart
short_description: Restart a service once nothing is left of the old instance, and say which instance runs now
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Stops a systemd service, sees that nothing stands in the way of the new instance, and starts it. The units that
    systemd stops together with it (C(Requires=), C(BindsTo=), C(PartOf=)) are started again, as a restart does.
  - With O(port) no other process may hold the port. A server that meets another one there may look ready while the
    other one answers for it.
  - Where C(nvidia-smi) exists, the processes of the old instance must have left the GPUs. A model that is loaded beside
    its predecessor runs out of memory.
  - When something is still in the way after O(release_timeout), the task fails, names the process and starts nothing.
    No process is ever killed, except by systemd when it stops the service.
  - Clears an earlier failure first (C(systemctl reset-failed)), so that a start limit that was hit before does not
    refuse the start.
  - Reads the state of the unit afresh afterwards, and fails unless a new instance was started. The C(status) that
    M(ansible.builtin.systemd_service) returns is from before its action.
  - A new instance may die a moment later, and one that runs is not yet a server that is ready. Judging that is the
    work of M(llmops.sglang.mtp_verify) and M(llmops.sglang.server_ready), which say why it died.
attributes:
  check_mode:
    description: Says that the service would be restarted. Touches nothing, and looks for nothing.
    support: full
  diff_mode:
    description: There is no file to show.
    support: none
options:
  name:
    description: Name of the unit, with its suffix.
    type: str
    default: sglang.service
  port:
    description: Port that the new instance will listen on. Nobody is looked for on it when it is left out or 0.
    type: int
    default: 0
  host:
    description: Address that the new instance will listen on. Listeners on other addresses are not in its way.
    type: str
    default: 0.0.0.0
  release_timeout:
    description: How long the port and the GPU memory may take to become free, in seconds.
    type: float
    default: 30
seealso:
  - module: llmops.sglang.service_unit
  - module: llmops.sglang.server_ready
"""

EXAMPLES = r"""
- name: Restart the server
  llmops.sglang.service_restart:
    name: sglang.service
    port: 30000
  register: restart

- name: Judge exactly the instance that was started
  llmops.sglang.mtp_verify:
    unit: sglang.service
    invocation_id: "{{ restart.instance.invocation_id }}"
    follow: true
"""

RETURN = r"""
instance:
  description: The new service instance; in check mode and after a failure the one that is there.
  type: dict
  returned: always
  contains:
    invocation_id:
      description: systemd's InvocationID, 32 hexadecimal digits.
      type: str
    main_pid:
      description: Process ID of the main process.
      type: int
    state:
      description: Active state and sub state.
      type: str
      sample: active (running)
    restarts:
      description: How often systemd restarted the service by itself.
      type: int
previous_invocation_id:
  description: InvocationID of the instance that ran before; empty when the unit had never run.
  type: str
  returned: always
holders:
  description: The processes that stand in the way of a start.
  type: list
  elements: dict
  returned: always
  sample: []
  contains:
    holds:
      description: What it holds, as C(port 30000) or C(GPU memory).
      type: str
    pid:
      description: Process ID, 0 when it could not be seen.
      type: int
    command:
      description: Its command line without secrets. Empty for a process that is gone and whose memory is not.
      type: str
    started_at:
      description: When it was started, in UTC.
      type: str
      sample: "2026-03-01T12:00:00Z"
    of_unit:
      description: Whether the service has started it.
      type: bool
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import orphans, service
from ansible_collections.llmops.sglang.plugins.module_utils.dependents import running_dependents


def main():
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "sglang.service"},
            "port": {"type": "int", "default": 0},
            "host": {"type": "str", "default": "0.0.0.0"},
            "release_timeout": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
    )
    check_options(module)
    try:
        restart = Restart(module)
        if not module.check_mode:
            restart.run()
        module.exit_json(changed=True, **restart.result())
    except service.ServiceError as error:
        module.fail_json(msg=str(error))


def check_options(module):
    options = module.params
    if not 0 <= options["port"] <= 65535:
        module.fail_json(msg="port is %d: give a port from 1 to 65535, or 0 for none." % options["port"])
    if options["release_timeout"] < 0:
        module.fail_json(
            msg="release_timeout is %g: give a number of seconds that is not negative." % options["release_timeout"]
        )


class Restart:
    """One restart of the module's unit: stop, see that nothing is in the way, start."""

    def __init__(self, module):
        self._module = module
        self._unit = module.params["name"]
        self._previous = service.read_instance(module.run_command, self._unit)
        self._processes = orphans.UnitProcesses().look(self._previous.control_group)
        if not self._previous.exists and not module.check_mode:
            module.fail_json(
                msg="There is no unit %s on this host: write it first, for example with service_unit" % self._unit
            )

    def run(self):
        dependents = running_dependents(self._module.run_command, self._unit)
        self._systemctl("stop", "systemd could not stop %s" % self._unit)
        holders = orphans.wait_until_gone(self._holders, self._module.params["release_timeout"])
        if holders:
            sentences = " ".join(holder.sentence(self._unit) for holder in holders)
            self._fail("%s %s was stopped, and not started again." % (sentences, self._unit), holders)
        # It fails for a unit that never failed on some releases of systemd, which is no reason to stop.
        self._module.run_command(["systemctl", "reset-failed", "--", self._unit])
        self._systemctl("start", "systemd could not start %s" % self._unit)
        current = service.read_instance(self._module.run_command, self._unit)
        if current.invocation_id in ("", self._previous.invocation_id):
            self._fail(
                "%s was restarted, but systemd started no new instance: it is %s (result %s)"
                % (self._unit, current.summary()["state"], current.result)
            )
        if dependents:
            self._start_again(dependents)

    def result(self, holders=()):
        current = service.read_instance(self._module.run_command, self._unit)
        return {
            "instance": current.summary(),
            "previous_invocation_id": self._previous.invocation_id,
            "holders": [holder.summary() for holder in holders],
        }

    def _start_again(self, dependents):
        rc, out, err = self._module.run_command(["systemctl", "start", "--", *dependents])
        if rc != 0:
            self._module.warn(
                "%s stopped together with %s, and could not be started again: %s"
                % (", ".join(dependents), self._unit, (err or out).strip())
            )

    def _systemctl(self, verb, problem):
        rc, out, err = self._module.run_command(["systemctl", verb, "--", self._unit])
        if rc != 0:
            self._fail("%s: %s" % (problem, (err or out).strip()))

    def _holders(self):
        """Who is in the way of the stopped service."""
        return self._port_holders() + orphans.gpu_holders(self._gpu_processes(), self._processes)

    def _port_holders(self):
        options = self._module.params
        return orphans.port_holders(options["host"], options["port"], self._processes) if options["port"] else []

    def _gpu_processes(self):
        program = self._module.get_bin_path("nvidia-smi")
        if not program:
            return set()
        rc, out, err = self._module.run_command([program, *orphans.GPU_PROCESSES])
        if rc != 0:
            self._module.warn("Who holds GPU memory could not be seen: nvidia-smi says %s" % (err or out).strip())
        return orphans.parse_gpu_processes(out) if rc == 0 else set()

    def _fail(self, message, holders=()):
        self._module.fail_json(msg=message, changed=True, **self.result(holders))


if __name__ == "__main__":
    main()
