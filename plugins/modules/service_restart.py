#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_restart
short_description: Restart a service, and say which instance runs now
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Restarts a systemd service after clearing an earlier failure (C(systemctl reset-failed)), so that a start limit that
    was hit before does not refuse the start.
  - Reads the state of the unit afresh afterwards, and fails unless a new instance was started. The C(status) that
    M(ansible.builtin.systemd_service) returns is from before its action.
  - A new instance may die a moment later, and one that runs is not yet a server that is ready. Judging that is the
    work of M(llmops.sglang.mtp_verify) and M(llmops.sglang.server_ready), which say why it died.
attributes:
  check_mode:
    description: Says that the service would be restarted, and touches nothing.
    support: full
  diff_mode:
    description: There is no file to show.
    support: none
options:
  name:
    description: Name of the unit, with its suffix.
    type: str
    default: sglang.service
"""

EXAMPLES = r"""
- name: Restart the server
  llmops.sglang.service_restart:
    name: sglang.service
  register: restart

- name: Judge exactly the instance that was started
  llmops.sglang.mtp_verify:
    unit: sglang.service
    invocation_id: "{{ restart.instance.invocation_id }}"
    follow: true
"""

RETURN = r"""
instance:
  description: The new service instance; in check mode the running one.
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
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import service


def main():
    module = AnsibleModule(
        argument_spec={"name": {"type": "str", "default": "sglang.service"}},
        supports_check_mode=True,
    )
    name = module.params["name"]
    try:
        previous = service.read_instance(module.run_command, name)
        if not previous.exists and not module.check_mode:
            module.fail_json(msg="There is no unit %s on this host: write it first, for example with service_unit" % name)
        if not module.check_mode:
            restart(module, name)
        current = service.read_instance(module.run_command, name)
    except service.ServiceError as error:
        module.fail_json(msg=str(error))
    result = {"instance": current.summary(), "previous_invocation_id": previous.invocation_id}
    if not module.check_mode and current.invocation_id in ("", previous.invocation_id):
        module.fail_json(
            msg="%s was restarted, but systemd started no new instance: it is %s (result %s)"
            % (name, result["instance"]["state"], current.result),
            changed=True,
            **result
        )
    module.exit_json(changed=True, **result)


def restart(module, name):
    # It fails for a unit that never failed on some releases of systemd, which is no reason to stop.
    module.run_command(["systemctl", "reset-failed", name])
    rc, out, err = module.run_command(["systemctl", "restart", name])
    if rc != 0:
        current = service.read_instance(module.run_command, name)
        module.fail_json(
            msg="systemd could not start %s: %s" % (name, (err or out).strip()),
            changed=True,
            instance=current.summary(),
        )


if __name__ == "__main__":
    main()
