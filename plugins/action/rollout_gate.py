# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of the gate: opens a rollout's ledger, lets batches pass, records outcomes."""

from __future__ import annotations

import os

from ansible.plugins.action import ActionBase
from ansible_collections.llmops.sglang.plugins.module_utils import gate, ledger


class ActionModule(ActionBase):
    """Runs on the controller only; the host is not connected to."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec={
                "state": {"type": "str", "choices": ["opened", "checked", "recorded"], "required": True},
                "ledger_dir": {"type": "path"},
                "rollout": {"type": "str"},
                "purpose": {"type": "str", "default": "deploy"},
                "batch": {"type": "int", "default": 1},
                "started_at": {"type": "str"},
                "outcome": {"type": "dict"},
            },
            required_if=[
                ("state", "checked", ["rollout"]),
                ("state", "recorded", ["rollout", "outcome"]),
            ],
        )
        book = ledger.Ledger(
            args["ledger_dir"] or default_folder(task_vars),
            args["rollout"] or ledger.new_rollout(args["purpose"]),
        )
        step = {"opened": self._open, "checked": self._check, "recorded": self._record}[args["state"]]
        try:
            return dict(step(book, args, task_vars), changed=False)
        except ledger.LedgerError as error:
            return {"failed": True, "msg": str(error)}

    def _open(self, book, args, task_vars):
        if not self._task.check_mode:
            book.create()
        return {"rollout": book.rollout, "ledger": book.folder}

    def _check(self, book, args, task_vars):
        batch_hosts = list(task_vars["ansible_play_batch"])
        play_hosts = list(task_vars["ansible_play_hosts_all"])
        if self._task.check_mode:
            return {"allowed": True, "reason": "Check mode: nothing is changed.", "batch": 1, "started_at": ledger.now()}
        decision = gate.decide(play_hosts, batch_hosts, {host: book.read(host) for host in play_hosts})
        started_at = ledger.now()
        if not decision.allowed:
            for host in batch_hosts:
                self._write(book, host, decision.batch, started_at, untouched(decision.reason))
        return {
            "allowed": decision.allowed,
            "reason": decision.reason,
            "batch": decision.batch,
            "started_at": started_at,
        }

    def _record(self, book, args, task_vars):
        if self._task.check_mode:
            return {"record": None}
        host = task_vars["inventory_hostname"]
        return {"record": self._write(book, host, args["batch"], args["started_at"], args["outcome"])}

    @staticmethod
    def _write(book, host, batch, started_at, outcome):
        return book.write(host, batch=batch, started_at=started_at or ledger.now(), **outcome)


def untouched(reason):
    """The outcome of a host that the gate kept from acting."""
    return {
        "verdict": "inconclusive",
        "reason": reason,
        "action": "untouched",
        "conditions": [],
        "diagnosis": [],
        "invocation_id": "",
    }


def default_folder(task_vars):
    """``mtp-ledger`` beside the inventory; in the working folder when the inventory is no file."""
    return os.path.join(task_vars.get("inventory_dir") or os.getcwd(), "mtp-ledger")
