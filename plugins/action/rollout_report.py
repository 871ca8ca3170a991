# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of the report: prints the matrix of a rollout and fails unless every host is proven."""

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.llmops.sglang.plugins.action.rollout_gate import default_folder, lock_of, untouched
from ansible_collections.llmops.sglang.plugins.module_utils import ledger, report


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
            },
        )
        if self._task.check_mode:
            return {"changed": False, "msg": "Check mode: nothing was changed, so there is nothing to report."}
        book = ledger.Ledger(args["ledger_dir"] or default_folder(task_vars), args["rollout"])
        try:
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


def missing(host):
    """What stands for a host that has no record, because the run ended before it."""
    return dict(untouched("The run ended before this host had a record."), host=host)
