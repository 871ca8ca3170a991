#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_unit
short_description: Write the unit of a service, and keep the way back
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Writes a systemd unit, checks it with C(systemd-analyze verify) before it replaces the old one, and reloads systemd.
  - Keeps the unit that it replaces as the last known good. A unit that was written but never proven never becomes the
    last known good, so a run that was interrupted can't make it the way back.
  - Says whether the service has to be restarted. This is decided from state, from what the running instance was started
    with against the unit on disk, and not from what this run changed.
  - Never starts, stops or restarts anything, except that restoring to "there was no unit" stops the service.
attributes:
  check_mode:
    description: Predicts the change and the restart, and touches nothing.
    support: full
  diff_mode:
    description: Shows the unit before and after, with secrets removed.
    support: full
options:
  name:
    description: Name of the unit, with its suffix.
    type: str
    default: sglang.service
  state:
    description:
      - V(present) writes O(content) as the unit.
      - V(proven) notes that the unit on disk was proven, so that it can become the last known good.
      - V(restored) puts the last known good back. When there was no unit before, the unit is removed.
    type: str
    choices: [present, proven, restored]
    default: present
  content:
    description:
      - The text of the unit. A fingerprint of it is added to the environment of its service.
      - Required with O(state=present).
    type: str
  enabled:
    description: Whether the unit is to be started at boot. Left as it is when not given. Used with O(state=present).
    type: bool
  unit_directory:
    description: Folder of the unit on disk.
    type: path
    default: /etc/systemd/system
  state_directory:
    description: Folder below which the last known good is kept, in a folder named after the unit.
    type: path
    default: /var/lib/llmops-sglang
"""

EXAMPLES = r"""
- name: Write the unit
  llmops.sglang.service_unit:
    name: sglang.service
    content: "{{ lookup('ansible.builtin.template', 'sglang.service.j2') }}"
  register: unit

- name: Restart the server when the running instance is not the one on disk
  llmops.sglang.service_restart:
    name: sglang.service
  when: unit.restart_needed

- name: Go back to the last known good unit
  llmops.sglang.service_unit:
    name: sglang.service
    state: restored
"""

RETURN = r"""
path:
  description: The unit on disk.
  type: str
  returned: always
  sample: /etc/systemd/system/sglang.service
unproven:
  description: Whether the unit on disk was written by this module and is not proven yet.
  type: bool
  returned: always
last_known_good:
  description: File with the unit that O(state=restored) would put back; empty when nothing was replaced yet.
  type: str
  returned: always
  sample: /var/lib/llmops-sglang/sglang.service/last_known_good.service
removed:
  description: Whether there is no unit, because there was none before and O(state=restored) took it away.
  type: bool
  returned: always
port:
  description: Port that the unit's server is told to listen on; 0 when its command line names none.
  type: int
  returned: always
  sample: 30000
host:
  description: Address that the unit's server is told to listen on; empty when its command line names none.
  type: str
  returned: always
  sample: 0.0.0.0
tls:
  description: Whether the unit's server is told to speak TLS (C(--ssl-certfile)).
  type: bool
  returned: always
restart_needed:
  description: Whether the running instance was started with anything else than the unit on disk.
  type: bool
  returned: always
restart_reason:
  description: Why a restart is needed, as a clause; empty when it is not.
  type: str
  returned: always
  sample: the running instance was started from another unit
instance:
  description: The running service instance, as systemd tells it after the change.
  type: dict
  returned: always
  contains:
    invocation_id:
      description: systemd's InvocationID, 32 hexadecimal digits; empty when the unit never ran.
      type: str
    main_pid:
      description: Process ID of the main process, 0 when none runs.
      type: int
    state:
      description: Active state and sub state.
      type: str
      sample: active (running)
    restarts:
      description: How often systemd restarted the service by itself.
      type: int
"""

import dataclasses
import os
import shutil
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import service, unit_file
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils.restart_decision import restart_reason
from ansible_collections.llmops.sglang.plugins.module_utils.server_url import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils.unit_store import UnitStore


def main():
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "sglang.service"},
            "state": {"type": "str", "choices": ["present", "proven", "restored"], "default": "present"},
            # Ansible writes a module's options to the node's journal, and a unit's text may hold what is not for it.
            "content": {"type": "str", "no_log": True},
            "enabled": {"type": "bool"},
            "unit_directory": {"type": "path", "default": "/etc/systemd/system"},
            "state_directory": {"type": "path", "default": "/var/lib/llmops-sglang"},
        },
        required_if=[("state", "present", ["content"])],
        supports_check_mode=True,
    )
    name = module.params["name"]
    if "/" in name or not name.endswith(".service"):
        module.fail_json(msg="name is %r: give the name of a service unit, such as sglang.service" % name)
    store = UnitStore(name, module.params["unit_directory"], module.params["state_directory"])
    change = {"present": install, "proven": mark_proven, "restored": restore}[module.params["state"]]
    try:
        before = store.current
        wanted, changed = change(module, store)
        module.exit_json(changed=changed, **describe(module, store, before, wanted))
    except service.ServiceError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg="The unit %s could not be handled: %s" % (store.path, error))


def install(module, store):
    """Bring the wanted text to disk; returns it and whether anything changed."""
    try:
        wanted = unit_file.with_fingerprint(module.params["content"])
    except ValueError as error:
        module.fail_json(msg="content can't become the unit %s: %s" % (module.params["name"], error))
    changed = wanted != store.current
    if changed:
        check_unit(module, wanted)
        if not module.check_mode:
            instance = service.read_instance(module.run_command, module.params["name"])
            store.install(wanted, current_runs=not why_restart(store, store.current or "", instance))
    reload_systemd(module, changed)
    return wanted, enable(module) or changed


def mark_proven(module, store):
    """Take the candidate's mark away; the unit on disk stays as it is."""
    changed = store.unproven
    if changed and not module.check_mode:
        store.mark_proven()
    return store.current, changed


def restore(module, store):
    """Put the last known good back; returns its text (None: no unit) and whether the disk changed."""
    good = store.last_known_good
    if good is None:
        module.fail_json(
            msg="There is no last known good of %s in %s: nothing was replaced by this collection on this host"
            % (module.params["name"], module.params["state_directory"])
        )
    wanted = good or None
    changed = wanted != store.current
    if not module.check_mode:
        if wanted is None:
            module.run_command(["systemctl", "disable", "--now", module.params["name"]])
        store.restore()
    reload_systemd(module, changed)
    return wanted, changed


def check_unit(module, text):
    """``systemd-analyze verify`` on a copy that carries the unit's own name; fails the module with what it says."""
    folder = tempfile.mkdtemp(prefix="llmops-unit-", dir=module.tmpdir)
    path = os.path.join(folder, module.params["name"])
    try:
        with open(path, "w", encoding="utf-8") as copy:
            copy.write(text)
        verify = ["systemd-analyze", "verify", "--man=no"]
        rc, out, err = module.run_command(verify + ["--recursive-errors=no", path])
        if rc != 0 and "recursive-errors" in err:
            rc, out, err = module.run_command(verify + [path])
    finally:
        shutil.rmtree(folder)
    if rc != 0:
        complaint = Redactor().redact((err or out).replace(folder + "/", "").strip())
        module.fail_json(
            msg="systemd-analyze verify refuses the new unit %s, the old one stays: %s"
            % (module.params["name"], complaint)
        )


def reload_systemd(module, changed):
    if module.check_mode:
        return
    if changed or service.read_instance(module.run_command, module.params["name"]).needs_daemon_reload:
        module.run_command(["systemctl", "daemon-reload"], check_rc=True)


def enable(module):
    """Bring the unit's start at boot to what ``enabled`` asks; returns whether that changed anything."""
    wanted = module.params["enabled"]
    if wanted is None:
        return False
    name = module.params["name"]
    out = module.run_command(["systemctl", "is-enabled", name])[1]
    if (out.strip() == "enabled") == wanted:
        return False
    if not module.check_mode:
        module.run_command(["systemctl", "enable" if wanted else "disable", name], check_rc=True)
    return True


def why_restart(store, text, instance):
    """Why the running instance is not the one that a unit with this text starts; empty when it is."""
    modified = store.modified_at()
    return restart_reason(
        instance,
        unit_file.fingerprint(text),
        service.process_environment(instance.main_pid).get(unit_file.FINGERPRINT_VARIABLE, ""),
        time.time() if modified is None or text != store.current else modified,
        time.time() - time.monotonic() + instance.started_monotonic,
    )


def describe(module, store, before, wanted):
    """The result: where the unit stands, what runs, and whether that needs a restart."""
    instance = service.read_instance(module.run_command, module.params["name"])
    reason = "" if wanted is None else why_restart(store, wanted, instance)
    redactor = Redactor()
    return {
        "path": store.path,
        "unproven": store.unproven or (module.check_mode and wanted != before),
        "last_known_good": "" if store.last_known_good is None else store.last_known_good_path,
        "removed": wanted is None,
        **dataclasses.asdict(Endpoint.of(wanted or "")),
        "restart_needed": bool(reason),
        "restart_reason": reason,
        "instance": instance.summary(),
        "diff": {
            "before_header": store.path,
            "after_header": store.path,
            "before": redactor.redact(before or ""),
            "after": redactor.redact(wanted or ""),
        },
    }


if __name__ == "__main__":
    main()
