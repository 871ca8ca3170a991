# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the last rollout kept as evidence: the lines that the server itself logged."""

from __future__ import annotations

import json

from rig.errors import RigError
from rig.node import INVENTORIES

LEDGER = INVENTORIES[0].parent / "mtp-ledger"
WIDTH = 160


def show() -> None:
    """Print the evidence of the newest record in the ledger; raises RigError when there is none."""
    records = sorted(LEDGER.glob("*/*.json"), key=lambda file: file.stat().st_mtime)
    if not records:
        raise RigError(f"There is no rollout in {LEDGER} yet.")
    record = json.loads(records[-1].read_text(encoding="utf-8"))
    print("\n".join(lines(record)))


def lines(record: dict) -> list[str]:
    """One record of the ledger as text: its reason, and each condition with the lines that it rests on."""
    shown = ["", f"{record['host']} is {record['verdict']}: {record['reason']}", "What the server itself logged:"]
    for condition in record["conditions"]:
        shown.append(f"  {condition['name']}: {condition['status']}")
        shown += [f"    {evidence['line'][:WIDTH]}" for evidence in condition["evidence"]]
    return shown
