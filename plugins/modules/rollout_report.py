#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_report
short_description: Print the matrix of a rollout, and fail unless every host is proven
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Reads the rollout's records from the ledger on the controller and prints a table of hosts and conditions, the hosts
    without proof first, with the reason for each of them.
  - Fails unless every host is proven. A host without a record counts as not proven.
  - Runs on the controller. The host is not connected to.
attributes:
  action:
    description: This is an action plugin.
    support: full
  check_mode:
    description: Prints the plan instead, with the batches, which servers would be restarted and why, and for how long.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
options:
  ledger_dir:
    description: Folder of the ledger. By default C(mtp-ledger) beside the inventory.
    type: path
  rollout:
    description: Name of the rollout.
    type: str
    required: true
  hosts:
    description: The hosts that have to be proven.
    type: list
    elements: str
    required: true
  batches:
    description: The sizes of the batches, as C(serial) takes them, for the plan in check mode.
    type: raw
    default: [1]
seealso:
  - module: llmops.sglang.rollout_gate
"""

EXAMPLES = r"""
- name: Show the matrix, and fail unless every host is proven
  llmops.sglang.rollout_report:
    rollout: "{{ rollout_opened.rollout }}"
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
msg:
  description: One line of totals.
  type: str
  returned: always
  sample: 2 of 3 hosts proven, 1 refuted
hosts:
  description: The verdict of each host.
  type: dict
  returned: always
  sample:
    gpu01: proven
    gpu02: refuted
"""
