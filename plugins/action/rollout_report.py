# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of the report: prints the matrix of a rollout and fails unless every host is proven."""

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.action.rollout_gate import default_folder, lock_of, untouched
from ansible_collections.llmops.sglang.plugins.module_utils import batches, group, ledger, plan, report


class ActionModule(ActionBase):
    """Runs on the controller only; the host is not connected to."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec={
                "ledger_dir": {"type": "path"},
                "rollout": {"type": "str", "required": True},
                "hosts": {"type": "list", "elements": "str", "required": True},
                "batches": {"type": "raw", "default": [1]},
            },
        )
        book = ledger.Ledger(args["ledger_dir"] or default_folder(task_vars), args["rollout"])
        try:
            if self._task.check_mode:
                return self._plan(book, args, task_vars["hostvars"])
            records = [book.read(host) or missing(host) for host in args["hosts"]]
        except ledger.LedgerError as error:
            return {"failed": True, "msg": str(error)}
        lock_of(book).release()
        for line in ["", *report.lines(records), "", "Ledger: %s" % book.folder]:
            Display().display(line)
        return {
            "changed": False,
            "failed": not report.all_proven(records),
            "msg": report.closing_line(records),
            "hosts": {record["host"]: record["verdict"] for record in records},
        }

    @staticmethod
    def _plan(book, args, hostvars):
        findings = {host: finding(host, hostvars) for host in args["hosts"]}
        seconds = {host: ledger.latest_start_seconds(book.root, host) for host in args["hosts"]}
        for line in ["", *plan.lines(batches.cut(args["hosts"], args["batches"]), findings, seconds), ""]:
            Display().display(line)
        problems = [host for host in args["hosts"] if findings[host]["problem"]]
        return {
            "changed": False,
            "failed": bool(problems),
            "msg": "%d of %d hosts would fail" % (len(problems), len(args["hosts"])),
            "hosts": {},
        }


def finding(host, hostvars):
    """What a run in check mode found out on a host, from the facts that it left."""
    host_vars = hostvars[host]
    failure = host_vars.get("mtp__failure") or {}
    result = host_vars.get("mtp_result") or {}
    problem = result.get("reason", "") if failure or result.get("verdict") != "proven" else ""
    step = "mtp__unit" if host_vars.get("mtp__unit") else "mtp__unit_restored"
    unit = host_vars.get(step) or {}
    members = host_vars.get("mtp__members") or {}
    if not unit.get("restart_needed") and group.restart_wanted(members, hostvars, step):
        unit = dict(unit, restart_needed=True, restart_reason="another server of its group has to be restarted")
    return {"unit": unit, "problem": problem}


def missing(host):
    """What stands for a host that has no record, because the run ended before it."""
    return dict(untouched("The run ended before this host had a record."), host=host)
