# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from fleet.inventory import Running, inventory
from fleet.node import Node

FLEET = [
    Running(Node("gpu01", "bookworm", "0.5.12"), "10.89.0.11", "a" * 64),
    Running(Node("gpu02", "trixie", "0.5.23", "ops"), "10.89.0.12", "b" * 64),
]


def read(key="/key", known_hosts="/known"):
    return yaml.safe_load(inventory(FLEET, Path(key), Path(known_hosts)))["sglang"]


def test_every_node_has_its_address_and_user():
    hosts = read()["hosts"]
    assert [(name, host["ansible_host"], host["ansible_user"]) for name, host in hosts.items()] == [
        ("gpu01", "10.89.0.11", "root"),
        ("gpu02", "10.89.0.12", "ops"),
    ]
    assert [host.get("ansible_become", False) for host in hosts.values()] == [False, True]


def test_no_shared_connection_leads_to_another_node_or_user():
    paths = [host["ansible_control_path"] % {"directory": "/cp"} for host in read()["hosts"].values()]
    assert paths == ["/cp/aaaaaaaaaaaa-%r", "/cp/bbbbbbbbbbbb-%r"]


def test_a_path_with_a_space_stays_one_path_for_ssh():
    words = shlex.split(read(known_hosts="/my work/known")["vars"]["ansible_ssh_common_args"])
    assert 'UserKnownHostsFile="/my work/known"' in words
