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
  - A unit is kept with its parts, the other files that decide how its server starts. These are its drop-ins
    (C(UNIT.d/*.conf) in O(unit_directory)) and the files that it names with C(--config) and C(EnvironmentFile=). A part
    that was changed together with the unit goes back with it.
  - What others rest on too is no part and is left alone, namely a file that another unit in O(unit_directory) names,
    C(/etc/environment), and the drop-ins that the instances of a template share. So are files that are named in other
    ways, such as certificates, and paths with specifiers, variables or patterns.
  - Says whether the service has to be restarted. This is decided from state, from what the running instance was started
    with against the unit and its parts on disk, and not from what this run changed.
  - Never starts, stops or restarts anything, except that restoring to "there was no unit" stops the service.
attributes:
  check_mode:
    description: Predicts the change and the restart, and touches nothing.
    support: full
  diff_mode:
    description: Shows the unit and every part that changes before and after, with secrets removed.
    support: full
options:
  name:
    description: Name of the unit, with its suffix.
    type: str
    default: sglang.service
  state:
    description:
      - V(present) writes O(content) as the unit. What it replaces is kept with the parts that it had when it was proven
        last; when it never was, with those on disk.
      - V(proven) notes that the unit on disk was proven with its parts, so that they can become the last known good. A
        part that was written after the running instance had started was not; then nothing is noted, with a warning.
      - V(inspected) changes nothing, and says what is there.
      - V(restored) puts the last known good back, drop-ins that it did not have are removed, and what is taken away is
        kept in C(replaced.tar) beside RV(last_known_good). When there was no unit before, the unit is removed. Where
        this module never wrote a unit, nothing is changed, see RV(nothing_to_restore).
    type: str
    choices: [present, proven, restored, inspected]
    default: present
  content:
    description:
      - The text of the unit. A fingerprint of it and of its parts is added to the environment of its service.
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
    description:
      - Folder below which the last known good is kept, in a folder named after the unit. Only root can read that one,
        since parts may hold keys.
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

- name: Go back to the last known good unit, with its drop-ins and its config file
  llmops.sglang.service_unit:
    name: sglang.service
    state: restored
  register: back

- name: Say that there was no way to go
  ansible.builtin.debug:
    msg: Nothing was ever deployed to this host.
  when: back.nothing_to_restore
"""

RETURN = r"""
path:
  description: The unit on disk.
  type: str
  returned: always
  sample: /etc/systemd/system/sglang.service
files:
  description: The unit and its parts, the files that decide how its server starts. Those that don't exist are left out.
  type: list
  elements: str
  returned: always
  sample:
    - /etc/systemd/system/sglang.service
    - /etc/systemd/system/sglang.service.d/limits.conf
    - /etc/sglang/server.yaml
unproven:
  description: Whether the unit on disk was written by this module and is not proven yet.
  type: bool
  returned: always
last_known_good:
  description:
    - File with the unit that O(state=restored) would put back; empty when nothing was replaced yet. The archive
      C(last_known_good.tar) beside it holds the unit with its parts, below their paths.
  type: str
  returned: always
  sample: /var/lib/llmops-sglang/sglang.service/last_known_good.service
generation:
  description:
    - What the unit shares with those of the other hosts that serve one model with it, 16 hexadecimal digits from
      C(LLMOPS_SGLANG_GROUP) in its environment; empty for a host that serves alone.
  type: str
  returned: always
last_known_good_generation:
  description: The same of the last known good unit.
  type: str
  returned: always
nothing_to_restore:
  description:
    - Whether O(state=restored) had nothing to do because this module never wrote this unit on this host. The host was
      left as it is, so RV(restart_needed) is false.
  type: bool
  returned: always
removed:
  description:
    - Whether there is no unit. After O(state=restored) there was none before, so no server is there to be asked. This
      holds too where RV(nothing_to_restore) is true and there is no unit.
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
node_rank:
  description: Rank that the unit gives its server in a group of nodes that are one server; 0 when it serves alone.
  type: int
  returned: always
running_node_rank:
  description: The same of the server that runs now, from its command line; 0 when none runs.
  type: int
  returned: always
restart_needed:
  description: Whether the running instance was started with anything else than the unit and its parts on disk.
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
from ansible_collections.llmops.sglang.plugins.module_utils import launch_parts, service, unit_file
from ansible_collections.llmops.sglang.plugins.module_utils.kept_launch import UNIT_MODE
from ansible_collections.llmops.sglang.plugins.module_utils.launch_file import LaunchFile
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils.restart_decision import is_newer, restart_reason
from ansible_collections.llmops.sglang.plugins.module_utils.server_url import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils.unit_store import UnitStore


@dataclasses.dataclass(frozen=True)
class Step:
    """What a state did, or would do: the unit's text and age and its parts afterwards, None standing for no unit.

    ``changes`` are pairs of :class:`LaunchFile` before and after; ``changed`` tells of anything else too.
    """

    text: str
    written_at: float
    parts: tuple
    unproven: bool
    changed: bool = False
    changes: tuple = ()
    nothing_to_restore: bool = False


def main():
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "sglang.service"},
            "state": {"type": "str", "choices": ["present", "proven", "restored", "inspected"], "default": "present"},
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
    states = {"present": install, "proven": mark_proven, "restored": restore, "inspected": inspect}
    try:
        step = states[module.params["state"]](module, store)
        module.exit_json(changed=step.changed, **describe(module, store, step))
    except service.ServiceError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg="The unit %s could not be handled: %s" % (store.path, error))


def install(module, store):
    """Bring the wanted text to disk."""
    parts = store.parts_of(module.params["content"])
    try:
        wanted = unit_file.with_fingerprint(module.params["content"], [(part.path, part.text) for part in parts])
    except ValueError as error:
        module.fail_json(msg="content can't become the unit %s: %s" % (module.params["name"], error))
    before = store.on_disk
    changed = wanted != before.text
    if changed:
        check_unit(module, wanted)
        if not module.check_mode:
            replace_unit(module, store, before, wanted)
    reload_systemd(module, changed)
    changed = enable(module) or changed
    if wanted == before.text:
        return Step(wanted, before.unit.written_at, parts, store.unproven, changed)
    after = LaunchFile(store.path, wanted, UNIT_MODE, (0, 0), time.time())
    return Step(wanted, after.written_at, parts, True, changed, ((before.unit, after),))


def replace_unit(module, store, before, wanted):
    """Write the unit, having told the store what of the launch on disk the running instance was started with."""
    instance = service.read_instance(module.run_command, module.params["name"])
    unit_runs = before.unit and not why_restart(store, before.text, before.unit.written_at, (), instance)
    parts_run = instance.main_pid > 0 and not is_newer(store.parts_changed_at(before), start_of(instance))
    store.install(wanted, unit_runs=unit_runs, parts_run=parts_run)


def mark_proven(module, store):
    """Take the candidate's mark away; the unit on disk stays as it is."""
    launch = store.on_disk
    unproven = store.unproven
    instance = service.read_instance(module.run_command, module.params["name"])
    late = [part.path for part in launch.parts if instance.main_pid and is_newer(part.written_at, start_of(instance))]
    if unproven and late:
        module.warn(
            "%s can't be noted as proven: %s was written after the running instance had started. Run the proof again."
            % (module.params["name"], late[0])
        )
    elif unproven and not module.check_mode:
        store.mark_proven()
    marked = unproven and not late
    return Step(launch.text, launch.written_at, launch.parts, unproven and not marked, marked)


def inspect(module, store):
    """Change nothing."""
    launch = store.on_disk
    return Step(launch.text, launch.written_at, launch.parts, store.unproven)


def restore(module, store):
    """Put the last known good back, where there is one."""
    good = store.last_known_good
    if good is None:
        return stay(module, store)
    instance = service.read_instance(module.run_command, module.params["name"])
    changes = store.way_back(start_of(instance) if instance.main_pid else 0.0)
    if not module.check_mode:
        if good.unit is None:
            module.run_command(["systemctl", "disable", "--now", module.params["name"]])
        store.restore(changes)
    reload_systemd(module, bool(changes))
    parts = parts_after(changes, store, good.text)
    unit = next((after for _before, after in changes if after and after.path == store.path), store.on_disk.unit)
    written_at = unit.written_at if good.unit else 0.0
    return Step(good.text, written_at, parts, False, bool(changes), tuple(changes))


def parts_after(changes, store, text):
    """The parts of a unit with this text when the changes are made, or will be."""
    parts = {part.path: part for part in store.parts_of(text or "")}
    for before, after in changes:
        path = (before or after).path
        parts.pop(path, None)
        if after and path != store.path:
            parts[path] = after
    return tuple(parts[path] for path in sorted(parts))


def stay(module, store):
    """Leave a host alone that has no last known good, because nothing was ever replaced on it."""
    if store.unproven:
        module.fail_json(
            msg="There is no last known good of %s in %s, and the unit on disk was never proven: put back by hand what "
            "was there before, or deploy again" % (module.params["name"], module.params["state_directory"])
        )
    launch = store.on_disk
    return Step(launch.text, launch.written_at, launch.parts, False, nothing_to_restore=True)


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


def why_restart(store, text, written_at, parts, instance):
    """Why the running instance is not the one that a unit with this text, age and parts starts; empty when it is."""
    return restart_reason(
        instance,
        unit_file.fingerprint(text),
        service.process_environment(instance.main_pid).get(unit_file.FINGERPRINT_VARIABLE, ""),
        written_at,
        start_of(instance),
        {called(store, part): part.written_at for part in parts},
    )


def start_of(instance):
    """When an instance was started, in seconds since the epoch."""
    return time.time() - time.monotonic() + instance.started_monotonic


def called(store, part):
    kind = "drop-in" if launch_parts.is_own_drop_in(store.path, part.path) else "file"
    return "the %s %s" % (kind, part.path)


def describe(module, store, step):
    """The result: where the unit stands, what runs, and whether that needs a restart."""
    instance = service.read_instance(module.run_command, module.params["name"])
    good = store.last_known_good
    stays = step.text is None or step.nothing_to_restore
    reason = "" if stays else why_restart(store, step.text, step.written_at, step.parts, instance)
    return {
        "path": store.path,
        "files": [store.path] * (step.text is not None) + [part.path for part in step.parts],
        "unproven": step.unproven,
        "generation": unit_file.generation(step.text),
        "last_known_good": "" if good is None else store.last_known_good_path,
        "last_known_good_generation": unit_file.generation(good.text if good else ""),
        "nothing_to_restore": step.nothing_to_restore,
        "removed": step.text is None,
        **dataclasses.asdict(Endpoint.of(unit_file.commanding(texts_of(store, step)))),
        "running_node_rank": unit_file.node_rank(service.process_command(instance.main_pid)),
        "restart_needed": bool(reason),
        "restart_reason": reason,
        "instance": instance.summary(),
        "diff": [difference(before, after) for before, after in step.changes],
    }


def texts_of(store, step):
    """The texts that make the unit's command line: its own, then those of its drop-ins."""
    drop_ins = [part.text for part in step.parts if launch_parts.is_own_drop_in(store.path, part.path)]
    return [step.text or "", *drop_ins]


def difference(before, after):
    """One file's entry of a diff, without secrets."""
    path = (before or after).path
    # Surrogates stand for bytes that are no UTF-8, and can't be printed.
    texts = [file.text.encode("utf-8", "surrogateescape") if file else b"" for file in (before, after)]
    shown = [Redactor().redact(text.decode("utf-8", "replace")) for text in texts]
    return {"before_header": path, "after_header": path, "before": shown[0], "after": shown[1]}


if __name__ == "__main__":
    main()
