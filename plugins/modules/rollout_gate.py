#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_gate
short_description: Let a batch act only when every host before it is proven
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Keeps a ledger on the controller, with one folder per rollout and one JSON record per host, and decides from
    it whether the next batch may act.
  - Only one run acts on a ledger at a time. A second one is refused while the first lives; the lock of a run that died
    is taken over.
  - An unreachable host, a rescued host and a host without a record all lack proof, so each of them closes the gate.
    Ansible's own brakes let a rollout go on in these cases.
  - Runs on the controller. The host is not connected to.
attributes:
  action:
    description: This is an action plugin.
    support: full
  check_mode:
    description: The gate is open in check mode, and the ledger is not written.
    support: full
  diff_mode:
    description: No node is changed.
    support: none
options:
  state:
    description:
      - V(opened) starts a rollout, makes its folder, and cuts the hosts of the play into batches. It warns when fewer
        hosts can act at the same time than the largest batch holds.
      - V(checked) decides for the batch that asks. When the gate is closed, all hosts of the batch are recorded as
        untouched, with the reason.
      - V(recorded) writes what was reached on the host.
      - V(settled) names the hosts of the batch that have to be taken back because another host of it lacks proof.
    type: str
    choices: [opened, checked, recorded, settled]
    required: true
  ledger_dir:
    description: Folder of the ledger. By default C(mtp-ledger) beside the inventory.
    type: path
  rollout:
    description: Name of the rollout. Required unless O(state=opened), which makes up a name from the time.
    type: str
  purpose:
    description: What the rollout is for, which is the first part of a name that is made up. A V(verify) takes no lock.
    type: str
    choices: [deploy, verify, rollback]
    default: deploy
  policy:
    description: What the operator lets pass.
    type: dict
    default: {}
    suboptions:
      failure_budget:
        description: How many hosts of the whole rollout may lack proof before the gate closes.
        type: int
        default: 0
      on_inconclusive:
        description:
          - What a host without evidence does. V(stop) counts it as lacking proof, V(accept) lets it pass, V(wait) asks
            at the terminal.
        type: str
        choices: [stop, accept, wait]
        default: stop
      confirm:
        description:
          - When to ask at the terminal, V(canary) before the second batch, V(every_batch) before each but the first.
            Where there is no terminal, the gate closes.
        type: str
        choices: [never, canary, every_batch]
        default: never
      pause_seconds:
        description: Seconds to wait before each batch but the first.
        type: int
        default: 0
      rollback_scope:
        description: Whether only a host that lacks proof goes back, or its whole batch with it.
        type: str
        choices: [host, batch]
        default: host
  batches:
    description:
      - The sizes of the batches, as C(serial) takes them, in a list or as text. Used with O(state=opened).
    type: raw
    default: [1]
  batch:
    description: Number of the batch, as O(state=checked) returned it.
    type: int
    default: 1
  started_at:
    description: Time at which the batch started, as O(state=checked) returned it.
    type: str
  outcome:
    description:
      - What was reached, with C(verdict), C(reason), C(action), C(conditions), C(diagnosis) and C(invocation_id).
      - Required with O(state=recorded).
    type: dict
"""

EXAMPLES = r"""
- name: Ask the gate whether every host before this batch is proven
  llmops.sglang.rollout_gate:
    state: checked
    rollout: "{{ rollout_opened.rollout }}"
  register: rollout_gate
  run_once: true

- name: Leave this batch untouched when the gate is closed
  ansible.builtin.meta: end_host
  when: not rollout_gate.allowed
"""

RETURN = r"""
rollout:
  description: Name of the rollout.
  type: str
  returned: with O(state=opened)
  sample: deploy-20261129T101500.123
ledger:
  description: Folder of the rollout on the controller.
  type: str
  returned: with O(state=opened)
taken_over:
  description: The rollout of a run that had died and whose lock was taken over; empty when there was none.
  type: str
  returned: with O(state=opened)
batches:
  description:
    - How many hosts each batch holds, in their order, for C(serial). No batch ends inside a group of hosts that serve
      one model together (C(mtp_group)).
  type: list
  elements: int
  returned: with O(state=opened)
  sample: [1, 2, 10, 7]
groups:
  description: Each group of hosts that serve one model together (C(mtp_group)), with its hosts and their ranks.
  type: dict
  returned: with O(state=opened)
  sample:
    qwen-large:
      gpu01: 0
      gpu02: 1
take_back:
  description: Hosts of the batch that have to go back because another host of it lacks proof.
  type: list
  elements: str
  returned: with O(state=settled)
allowed:
  description: Whether the batch may act.
  type: bool
  returned: with O(state=checked)
reason:
  description: Why, as a sentence that names the hosts.
  type: str
  returned: with O(state=checked) and O(state=settled)
  sample: Not started, because gpu01 is refuted.
batch:
  description: Number of the batch that asked, counted from 1.
  type: int
  returned: with O(state=checked)
started_at:
  description: Time in UTC, ISO 8601.
  type: str
  returned: with O(state=checked)
record:
  description: The record that was written, empty in check mode.
  type: dict
  returned: with O(state=recorded)
  contains:
    schema:
      description: Version of the record's form.
      type: int
    rollout:
      description: Name of the rollout.
      type: str
    host:
      description: Name of the host in the inventory.
      type: str
    batch:
      description: Number of the batch.
      type: int
    attempt:
      description: How many records this host has had in this rollout.
      type: int
    verdict:
      description: V(proven), V(refuted) or V(inconclusive).
      type: str
    reason:
      description: Why, as a sentence.
      type: str
    action:
      description: V(deployed), V(rolled_back), V(skipped) or V(untouched).
      type: str
    conditions:
      description: The conditions as M(llmops.sglang.mtp_verify) returns them.
      type: list
      elements: dict
    diagnosis:
      description: Causes of a failure, as M(llmops.sglang.mtp_verify) returns them.
      type: list
      elements: dict
    starts:
      description: How often the server was started.
      type: int
    start_seconds:
      description: Seconds from the start of the instance to its ready line; V(none) when no start was watched.
      type: float
    accept_length:
      description: New tokens for each verify step, as M(llmops.sglang.mtp_prove) measured it.
      type: float
    invocation_id:
      description: The service instance that the verdict is about.
      type: str
    started_at:
      description: Time in UTC at which the batch started.
      type: str
    finished_at:
      description: Time in UTC at which the record was written.
      type: str
"""
