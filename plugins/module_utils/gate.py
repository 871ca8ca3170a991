# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: may this batch act, told from the records of the hosts before it and the operator's policy."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the operator lets pass.

    ``failure_budget``: how many hosts of the whole rollout may lack proof. ``on_inconclusive``: ``stop`` counts a host
    without evidence as lacking proof, ``accept`` does not, ``wait`` asks the operator. ``confirm``: ``never`` asks
    nothing, ``canary`` asks before the second batch, ``every_batch`` before each but the first.
    """

    failure_budget: int = 0
    on_inconclusive: str = "stop"
    confirm: str = "never"


@dataclasses.dataclass(frozen=True)
class GateDecision:
    """``allowed``, or ``ask`` the operator; the ``reason`` as a sentence; the ``batch`` that asked, counted from 1."""

    allowed: bool
    ask: bool
    reason: str
    batch: int


def decide(play_hosts, batch_hosts, records, policy=Policy()):
    """Open the gate only when every host before this batch is proven in this rollout.

    :arg play_hosts: all hosts of the play in their order; ``batch_hosts``: those of this batch.
    :arg records: host to its record of this rollout, or None.
    """
    earlier = play_hosts[: play_hosts.index(batch_hosts[0])]
    verdicts = {host: (records.get(host) or {}).get("verdict") for host in earlier}
    batch = 1 + max([(records.get(host) or {}).get("batch", 0) for host in earlier] or [0])
    lacking = [host for host in earlier if verdicts[host] != "proven"]
    blocking = [host for host in lacking if verdicts[host] != "inconclusive" or policy.on_inconclusive == "stop"]
    if len(blocking) > policy.failure_budget:
        return GateDecision(False, False, "Not started, because %s." % _named(blocking, verdicts), batch)
    if policy.on_inconclusive == "wait" and "inconclusive" in verdicts.values():
        return GateDecision(False, True, "Waiting, because %s." % _named(lacking, verdicts), batch)
    if _has_to_be_confirmed(policy, batch):
        return GateDecision(False, True, "Waiting for confirmation of batch %d." % batch, batch)
    if lacking:
        return GateDecision(True, False, "Let through by policy, although %s." % _named(lacking, verdicts), batch)
    return GateDecision(True, False, "Every host before this batch is proven.", batch)


def to_take_back(batch_hosts, records):
    """The hosts of a batch that were deployed although another host of the batch lacks proof, and why."""
    verdicts = {host: (records.get(host) or {}).get("verdict") for host in batch_hosts}
    lacking = [host for host in batch_hosts if verdicts[host] != "proven"]
    if not lacking:
        return [], ""
    deployed = [host for host in batch_hosts if (records.get(host) or {}).get("action") == "deployed"]
    return deployed, "Taken back with its batch, because %s." % _named(lacking, verdicts)


def _has_to_be_confirmed(policy, batch):
    if policy.confirm == "every_batch":
        return batch > 1
    return policy.confirm == "canary" and batch == 2


def _named(hosts, verdicts):
    named = ", ".join("%s is %s" % (host, verdicts[host] or "without a record") for host in hosts[:3])
    return "%s and %d more lack proof" % (named, len(hosts) - 3) if len(hosts) > 3 else named
