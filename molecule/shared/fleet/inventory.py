# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Ansible inventory of a fleet: group ``sglang``, reached over SSH with a throw-away key."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import yaml

from fleet.node import Node

GROUP = "sglang"


@dataclasses.dataclass(frozen=True)
class Running:
    """A node that runs: where it is, and the identity of its container."""

    node: Node
    address: str
    container_id: str


def inventory(fleet: list[Running], key: Path, known_hosts: Path) -> str:
    """The inventory as YAML."""
    trust = ["-o", "StrictHostKeyChecking=no", "-o", f'UserKnownHostsFile="{known_hosts}"', "-o", "LogLevel=ERROR"]
    group = {
        "hosts": {running.node.name: _host(running) for running in fleet},
        "vars": {"ansible_ssh_private_key_file": str(key), "ansible_ssh_common_args": shlex.join(trust)},
    }
    return "---\n" + yaml.safe_dump({GROUP: group}, sort_keys=False, width=1000)


def _host(running: Running) -> dict:
    host = {
        "ansible_host": running.address,
        "ansible_user": running.node.user,
        # An address comes back with the next node: a shared connection must never outlive the node it leads to.
        "ansible_control_path": f"%(directory)s/{running.container_id[:12]}-%%r",
    }
    if running.node.user != "root":
        host["ansible_become"] = True
    return host
