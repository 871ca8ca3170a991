# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: hosts that serve one model together (``mtp_group``) act as one: they are started together or not at all.

``variables`` maps each host of the inventory to its variables and facts, as Ansible's ``hostvars`` does. ``members``
maps the hosts of one group to their ranks.
"""

from __future__ import annotations

import hashlib
import re

HINDERED = "Of its mtp_group"
_ADDRESS = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[^:\s]+):[0-9]{1,5}$")
# How far a host came, in the order of the way back; a host that is not on it has come to none of these.
GOING_BACK = ("going back", "out of the routers")


def members_of(name, variables):
    """The hosts of a group in the inventory and their ranks; ``{}`` for a host without a group."""
    if not name:
        return {}
    return {host: _rank(variables[host]) for host in variables if variables[host].get("mtp_group") == name}


def mistake(name, members, dist_init_addr, size=0):
    """What is wrong with a group, as a sentence; ``""`` when nothing is.

    :arg size: how many hosts it has to have; 0 for as many as the inventory names.
    """
    if not name:
        return ""
    if size and len(members) != size:
        return "mtp_group %s has %d hosts in this inventory (%s), and mtp_group_size is %d: a group acts as one." % (
            name,
            len(members),
            ", ".join(members),
            size,
        )
    if sorted(members.values()) != list(range(len(members))):
        ranks = ", ".join("%s: %s" % member for member in members.items())
        return "mtp_group %s has the mtp_node_ranks %s: give each of its hosts its own, from 0 to %d." % (
            name,
            ranks,
            len(members) - 1,
        )
    if not _ADDRESS.match(str(dist_init_addr or "")):
        return "mtp_dist_init_addr is %r: give HOST:PORT of rank 0, as the others of mtp_group %s reach it." % (
            dist_init_addr,
            name,
        )
    return ""


def behind(stage, members, variables):
    """The hosts of a group that have not come to ``stage``. On the way back only those count that went on it."""
    reached = {host: variables[host].get("mtp__reached") for host in members}
    if stage in GOING_BACK:
        reached = {host: came_to for host, came_to in reached.items() if came_to in GOING_BACK}
    return [host for host, came_to in reached.items() if came_to != stage]


def hindrance(stage, members, variables):
    """Why a host may not go on from ``stage``, as a sentence; ``""`` when every host of its group came so far."""
    missing = behind(stage, members, variables)
    if not missing:
        return ""
    hosts = " and ".join(missing)
    return "%s %s did not get through this step (%s), and a group acts as one." % (HINDERED, hosts, stage)


def is_hindrance(reason):
    """Whether this is what :func:`hindrance` said: the host itself has shown nothing wrong."""
    return reason.startswith(HINDERED)


def restart_wanted(members, variables, result):
    """Whether the server of any host of the group has to be restarted, by the ``service_unit`` result of that name."""
    return any((variables[host].get(result) or {}).get("restart_needed") for host in members)


def generation(members, variables):
    """What the units of a group have in common, 16 hexadecimal digits; it changes when any host's launch does."""
    launches = sorted("%s %s" % (host, variables[host].get("mtp__own_launch")) for host in members)
    return hashlib.sha256("\n".join(launches).encode()).hexdigest()[:16] if launches else ""


class NoWayBack(ValueError):
    """The hosts of a group have no generation in common to go back to; the text is one sentence for the operator."""


def going_back(kept):
    """The hosts of a group that have to leave their unit, so that all of them are of one generation again.

    A run that was killed may have written, or noted as proven, the units of some hosts only. Where a unit lacks proof,
    the group goes back to what was before it, and a host that is still there stays. Otherwise all of them go back.

    :arg kept: host to what ``service_unit`` found there (``inspected``).
    :raises NoWayBack: when that would leave the hosts on different generations.
    """
    leaving = [host for host in kept if kept[host].get("unproven")] or list(kept)
    targets = {kept[host].get("last_known_good_generation") for host in leaving}
    staying = [host for host in kept if host not in leaving and kept[host].get("generation") in targets]
    leaving = [host for host in kept if host not in staying]
    if len({kept[host].get("last_known_good_generation") for host in leaving} | targets) > 1:
        found = ", ".join("%s: %s" % (host, kept[host].get("last_known_good_generation") or "none") for host in leaving)
        raise NoWayBack(
            "The last known good units of the group are not of one generation (%s): a run was killed between them. "
            "Bring the group to one unit with deploy_mtp.yml, or put units back by hand." % found
        )
    return leaving


def all_may_start_again(members, variables):
    """Whether no host of the group knows a reason against one more start of all of them."""
    return all(variables[host].get("mtp__may_start_again") for host in members)


def all_groups(hosts, variables):
    """Each group that one of ``hosts`` is in, with all its members; one walk over the inventory for all of them."""
    groups = {}
    for host in variables:
        name = variables[host].get("mtp_group")
        if name:
            groups.setdefault(name, {})[host] = _rank(variables[host])
    return {name: members for name, members in groups.items() if not members.keys().isdisjoint(hosts)}


def names_by_host(groups):
    """Each host of the groups with the name of its group."""
    return {host: name for name, members in groups.items() for host in members}


def incomplete(hosts, groups):
    """What keeps the groups of a run from acting as one, as a sentence; ``""`` when nothing does.

    :arg hosts: the hosts of the run, in its order; ``groups``: theirs, as :func:`all_groups` finds them.
    """
    for name, members in groups.items():
        missing = [host for host in members if host not in hosts]
        if missing:
            return "%s of mtp_group %s is not part of this run, and a group acts as one: name all of it in --limit." % (
                " and ".join(missing),
                name,
            )
        places = [hosts.index(host) for host in members]
        if max(places) - min(places) >= len(places):
            return (
                "The hosts of mtp_group %s (%s) do not follow one another in the inventory, so no batch can hold just "
                "them: write them one after the other." % (name, ", ".join(members))
            )
    return ""


def _rank(variables):
    try:
        return int(variables.get("mtp_node_rank", 0))
    except (TypeError, ValueError):
        return -1
