# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of the gate: opens a rollout's ledger, lets batches pass, records outcomes."""

from __future__ import annotations

import os
import time

from ansible import context
from ansible.errors import AnsiblePromptInterrupt, AnsiblePromptNoninteractive
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.module_utils import batches, gate, group, ledger
from ansible_collections.llmops.sglang.plugins.module_utils.ledger_lock import LedgerLock, LockedError

POLICY_SPEC = {
    "failure_budget": {"type": "int", "default": 0},
    "on_inconclusive": {"type": "str", "choices": ["stop", "accept", "wait"], "default": "stop"},
    "confirm": {"type": "str", "choices": ["never", "canary", "every_batch"], "default": "never"},
    "pause_seconds": {"type": "int", "default": 0},
    "rollback_scope": {"type": "str", "choices": ["host", "batch"], "default": "host"},
}


class ActionModule(ActionBase):
    """Runs on the controller only; the host is not connected to."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec={
                "state": {"type": "str", "choices": ["opened", "checked", "recorded", "settled"], "required": True},
                "ledger_dir": {"type": "path"},
                "rollout": {"type": "str"},
                "purpose": {"type": "str", "choices": ["deploy", "verify", "rollback"], "default": "deploy"},
                "policy": {"type": "dict", "default": {}, "options": POLICY_SPEC, "apply_defaults": True},
                "batches": {"type": "raw", "default": [1]},
                "batch": {"type": "int", "default": 1},
                "started_at": {"type": "str"},
                "outcome": {"type": "dict"},
            },
            required_if=[
                ("state", "checked", ["rollout"]),
                ("state", "settled", ["rollout"]),
                ("state", "recorded", ["rollout", "outcome"]),
            ],
        )
        book = ledger.Ledger(
            args["ledger_dir"] or default_folder(task_vars),
            args["rollout"] or ledger.new_rollout(args["purpose"]),
        )
        step = {"opened": self._open, "checked": self._check, "recorded": self._record, "settled": self._settle}
        try:
            return dict(step[args["state"]](book, args, task_vars), changed=False)
        except (ledger.LedgerError, LockedError, ValueError) as error:
            return {"failed": True, "msg": str(error)}

    def _open(self, book, args, task_vars):
        hosts = list(task_vars["ansible_play_hosts_all"])
        groups = group.all_groups(hosts, task_vars["hostvars"])
        planned = plan_batches(args, hosts, groups)
        warn_of_few_forks(max(planned))
        stale = ""
        if not self._task.check_mode:
            book.create()
            # An audit changes no node, so it may run beside a rollout.
            if args["purpose"] != "verify":
                stale = lock_of(book).take(book.rollout)
        if stale:
            Display().warning("The run of %s died, and its lock on the ledger was taken over." % stale)
        return {
            "rollout": book.rollout,
            "ledger": book.folder,
            "taken_over": stale,
            "batches": planned,
            "groups": groups,
        }

    def _check(self, book, args, task_vars):
        batch_hosts = list(task_vars["ansible_play_batch"])
        play_hosts = list(task_vars["ansible_play_hosts_all"])
        if self._task.check_mode:
            decision = gate.GateDecision(True, False, "Check mode: nothing is changed.", 1)
        else:
            decision = self._decide(book, args["policy"], play_hosts, batch_hosts)
        started_at = ledger.now()
        if not decision.allowed:
            for host in batch_hosts:
                book.write(host, batch=decision.batch, started_at=started_at, **untouched(decision.reason))
        return {
            "allowed": decision.allowed,
            "reason": decision.reason,
            "batch": decision.batch,
            "started_at": started_at,
        }

    def _decide(self, book, policy, play_hosts, batch_hosts):
        records = {host: book.read(host) for host in play_hosts}
        allowed = gate.Policy(policy["failure_budget"], policy["on_inconclusive"], policy["confirm"])
        decision = gate.decide(play_hosts, batch_hosts, records, allowed)
        if decision.ask:
            decision = ask_operator(decision, batch_hosts)
        if decision.allowed and decision.batch > 1:
            time.sleep(policy["pause_seconds"])
        return decision

    def _record(self, book, args, task_vars):
        if self._task.check_mode:
            return {"record": None}
        return {
            "record": book.write(
                task_vars["inventory_hostname"],
                batch=args["batch"],
                started_at=args["started_at"] or ledger.now(),
                **args["outcome"],
            )
        }

    def _settle(self, book, args, task_vars):
        if self._task.check_mode or args["policy"]["rollback_scope"] == "host":
            return {"take_back": [], "reason": ""}
        batch_hosts = list(task_vars["ansible_play_batch"])
        hosts, reason = gate.to_take_back(batch_hosts, {host: book.read(host) for host in batch_hosts})
        return {"take_back": hosts, "reason": reason}


def ask_operator(decision, batch_hosts):
    """Put the question to the terminal; without one the answer is no."""
    question = "%s Next: %s. Go on? [y/N] " % (decision.reason, ", ".join(batch_hosts))
    try:
        answer = Display().prompt_until(question).decode(errors="replace").strip().lower()
    except AnsiblePromptNoninteractive:
        reason = "Not started: %s There is no terminal to ask on; the policy has to decide it." % decision.reason
        return gate.GateDecision(False, False, reason, decision.batch)
    except AnsiblePromptInterrupt:
        answer = "n"
    if answer in ("y", "yes"):
        return gate.GateDecision(True, False, "The operator let this batch pass.", decision.batch)
    return gate.GateDecision(False, False, "Not started: the operator said no. %s" % decision.reason, decision.batch)


def plan_batches(args, hosts, groups):
    """How many hosts each batch holds, in their order.

    :raises ValueError: for sizes that are none, and for groups of hosts that no batch can hold.
    """
    wrong = "" if args["purpose"] == "verify" else group.incomplete(hosts, groups)
    if wrong:
        raise ValueError(wrong)
    planned = batches.cut(hosts, batches.sizes(args["batches"]), group.names_by_host(groups))
    return [len(batch) for batch in planned]


def warn_of_few_forks(largest):
    """A host whose model loads holds its fork: with fewer forks than hosts, a batch takes several rounds."""
    forks = context.CLIARGS.get("forks") or largest
    if forks < largest:
        Display().warning(
            "The largest batch has %d hosts, but only %d can act at the same time: set forks to %d in ansible.cfg, or "
            "give --forks %d." % (largest, forks, largest, largest)
        )


def lock_of(book):
    """The ledger's lock, held by the run itself: tasks are short-lived children of its process."""
    return LedgerLock(book.root, os.getppid())


def untouched(reason):
    """The outcome of a host that the gate kept from acting."""
    return {
        "verdict": "inconclusive",
        "reason": reason,
        "action": "untouched",
        "conditions": [],
        "diagnosis": [],
        "accept_length": None,
        "starts": 0,
        "start_seconds": None,
        "invocation_id": "",
    }


def default_folder(task_vars):
    """``mtp-ledger`` beside the first inventory; in the working folder when that is no file.

    Not beside a host's own inventory: hosts of one run can come from several, and it has one ledger.
    """
    sources = task_vars.get("ansible_inventory_sources") or []
    source = os.path.abspath(sources[0]) if sources else ""
    beside = source if os.path.isdir(source) else os.path.dirname(source)
    return os.path.join(beside if os.path.exists(source) else os.getcwd(), "mtp-ledger")
