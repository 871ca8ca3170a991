# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what a rollout would do, told from a run in check mode ──▶ lines of text."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils.batches import batch_of


def lines(batches, findings, start_seconds):
    """The plan: one line per host with its batch, and how long all of it may take.

    :arg batches: lists of hosts. ``findings``: host to ``unit`` (the result of ``service_unit`` in check mode) and
        ``problem`` (what would stop the host, or ``""``). ``start_seconds``: host to how long its last start took.
    """
    hosts = [host for batch in batches for host in batch]
    width = max(len(host) for host in hosts)
    text = ["Plan (check mode, nothing was changed):"]
    for host in hosts:
        text.append("  batch %d  %s  %s" % (batch_of(host, batches), host.ljust(width), _of_host(findings[host])))
    return text + ["", _duration(batches, findings, start_seconds)]


def _of_host(finding):
    if finding["problem"]:
        return "would fail: %s" % finding["problem"]
    unit = finding["unit"]
    if unit.get("nothing_to_restore"):
        return "nothing was ever deployed to it, so there is nothing to go back to"
    if unit.get("removed") and unit.get("changed"):
        return "there was no unit before: it would be removed, and the server stopped"
    written = "the unit would be written; " if unit.get("changed") else ""
    if unit.get("restart_needed"):
        return "%sthe server would be restarted: %s" % (written, unit["restart_reason"])
    return written + "the server would not be restarted" if written else "nothing to do but to prove it again"


def _duration(batches, findings, start_seconds):
    """The batches one after the other, each as long as its slowest start."""
    restarting = [[host for host in batch if findings[host]["unit"].get("restart_needed")] for batch in batches]
    if not any(restarting):
        return "No server would be restarted."
    unknown = sum(start_seconds.get(host) is None for batch in restarting for host in batch)
    known = [[start_seconds[host] for host in batch if start_seconds.get(host) is not None] for batch in restarting]
    total = sum(max(batch) for batch in known if batch)
    if not total:
        return "How long the starts take is not known yet: the ledger has no earlier start of these hosts."
    about = "By the ledger's earlier starts the servers load for about %d s in all." % round(total)
    return about + (" No earlier start is known of %d of them." % unknown if unknown else "")
