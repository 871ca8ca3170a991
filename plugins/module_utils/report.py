# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: a rollout's records ──▶ the matrix host × condition, the sentences below it, and the closing line."""

from __future__ import annotations

import collections

CONDITION_NAMES = (
    "speculative_algorithm",
    "mamba_strategy",
    "disable_overlap_schedule",
    "draft_model",
    "mem_fraction_static",
)
WORST_FIRST = {"refuted": 0, "inconclusive": 1, "proven": 2}


def lines(records):
    """The report as lines of text, the hosts without proof first.

    :arg records: one record per host, as the ledger holds them.
    """
    ordered = sorted(records, key=lambda record: WORST_FIRST.get(record["verdict"], 1))
    rows = [("host",) + CONDITION_NAMES + ("accept_length", "verdict", "action")]
    rows += [_row(record) for record in ordered]
    return _table(rows) + _reasons(ordered) + ["", closing_line(records)]


def closing_line(records):
    """One line of totals, such as ``2 of 3 hosts proven, 1 refuted``."""
    counts = collections.Counter(record["verdict"] for record in records)
    rest = ["%d %s" % (counts[verdict], verdict) for verdict in ("refuted", "inconclusive") if counts[verdict]]
    return ", ".join(["%d of %d hosts proven" % (counts["proven"], len(records))] + rest)


def all_proven(records):
    return all(record["verdict"] == "proven" for record in records)


def _row(record):
    status = {condition["name"]: condition["status"] for condition in record["conditions"]}
    cells = tuple(status.get(name, "-") for name in CONDITION_NAMES)
    accepted = record.get("accept_length")
    cells += ("-" if accepted is None else "%.2f" % accepted,)
    return (record["host"],) + cells + (record["verdict"].upper(), record["action"])


def _table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _reasons(records):
    lacking = [record for record in records if record["verdict"] != "proven"]
    found = []
    for record in lacking:
        found += ["", "%s: %s" % (record["host"], record["reason"])]
        found += ["  %s" % _unmet(condition) for condition in record["conditions"] if condition["status"] == "unmet"]
        found += ["  %s: %s" % (cause["summary"], cause["remedy"]) for cause in record.get("diagnosis", [])]
    return found


def _unmet(condition):
    return "%s: expected %s, observed %s" % (condition["name"], condition["expected"], condition["observed"])
