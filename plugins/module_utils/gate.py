# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: may this batch act, told from the records of the hosts before it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class GateDecision:
    """``allowed``, the ``reason`` as a sentence, and the number of the batch that asked, counted from 1."""

    allowed: bool
    reason: str
    batch: int


def decide(play_hosts, batch_hosts, records):
    """Open the gate only when every host before this batch is proven in this rollout.

    :arg play_hosts: all hosts of the play in their order; ``batch_hosts``: those of this batch.
    :arg records: host to its record of this rollout, or None.
    """
    earlier = play_hosts[: play_hosts.index(batch_hosts[0])]
    batch = 1 + max([(records.get(host) or {}).get("batch", 0) for host in earlier] or [0])
    lacking = [host for host in earlier if (records.get(host) or {}).get("verdict") != "proven"]
    if not lacking:
        return GateDecision(True, "Every host before this batch is proven.", batch)
    named = ", ".join("%s is %s" % (host, _verdict(records.get(host))) for host in lacking[:3])
    more = " and %d more lack proof" % (len(lacking) - 3) if len(lacking) > 3 else ""
    return GateDecision(False, "Not started, because %s%s." % (named, more), batch)


def _verdict(record):
    return record["verdict"] if record else "without a record"
