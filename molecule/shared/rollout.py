# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the collection's playbooks as a user does, and read what the ledger says of it."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import threading

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
# A playbook that hangs is a failure: no scenario's rollout takes this long.
LIMIT_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a playbook: exit code, what it printed, and the ledger's records by host."""

    exit_code: int
    output: str
    records: dict

    def record_of(self, host):
        """The record of a testinfra host."""
        return self.records[host.backend.get_hostname()]


def run_playbook(name, inventory, ledger_dir, *options, on_line=None, **variables):
    """Run ``playbooks/<name>.yml`` against an inventory.

    :arg options: further words of the command line; ``variables``: extra variables.
    :arg on_line: called with each line of the output at the moment it is printed.
    """
    before = set(_records(ledger_dir))
    with subprocess.Popen(
        playbook_command(name, inventory, ledger_dir, *options, **variables),
        cwd=CHECKOUT,
        env=dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_FORCE_COLOR="0"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as playbook:
        limit = threading.Timer(LIMIT_SECONDS, playbook.kill)
        limit.start()
        lines = []
        for line in playbook.stdout:
            lines.append(line)
            if on_line:
                on_line(line)
        limit.cancel()
    new = [json.loads(path.read_text(encoding="utf-8")) for path in _records(ledger_dir) if path not in before]
    return Run(playbook.returncode, "".join(lines), {record["host"]: record for record in new})


def playbook_command(name, inventory, ledger_dir, *options, **variables):
    """The words of the command that :func:`run_playbook` runs."""
    variables["mtp_ledger_dir"] = str(ledger_dir)
    command = ["ansible-playbook", "-i", str(inventory), str(CHECKOUT / "playbooks" / (name + ".yml"))]
    return [*command, "-e", json.dumps(variables), *options]


def _records(ledger_dir):
    return sorted(pathlib.Path(ledger_dir).glob("*/*.json"))
