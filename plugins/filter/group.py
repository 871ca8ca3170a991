# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters over ``hostvars``: what the other hosts of a rollout or of a group have come to."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.module_utils import group


def opened_batches(hostvars):
    """How many hosts each batch holds, from what ``rollout_gate`` returned when the rollout was opened.

    All hosts of the rollout have it. ``[1]`` before a rollout was opened.
    """
    opened = (hostvars[host].get("rollout_opened") or {} for host in hostvars)
    return next((result["batches"] for result in opened if "batches" in result), [1])


def group_members(hostvars, name):
    """The hosts of a group and their ranks; empty for a host without a group."""
    return group.members_of(name, hostvars)


def group_hindrance(hostvars, members, stage):
    """Why a host may not go on from a stage; empty when every host of its group came so far."""
    return group.hindrance(stage, members, hostvars)


def group_wants_restart(hostvars, members, result):
    """Whether the server of any host of the group has to be restarted."""
    return group.restart_wanted(members, hostvars, result)


def group_generation(hostvars, members):
    """What the units of all hosts of a group have in common; empty without a group."""
    return group.generation(members, hostvars)


def group_going_back(hostvars, members):
    """The hosts of a group that have to leave their unit when the group goes back."""
    try:
        kept = {host: hostvars[host].get("mtp__kept") or {} for host in members}
        # A host that was lost said nothing.
        return group.going_back({host: found for host, found in kept.items() if "generation" in found})
    except group.NoWayBack as error:
        raise AnsibleFilterError(str(error)) from error


def group_may_start_again(hostvars, members):
    """Whether no host of the group knows a reason against one more start of all of them."""
    return group.all_may_start_again(members, hostvars)


class FilterModule:
    """The filters by name."""

    def filters(self):
        return {
            "opened_batches": opened_batches,
            "group_members": group_members,
            "group_hindrance": group_hindrance,
            "group_wants_restart": group_wants_restart,
            "group_may_start_again": group_may_start_again,
            "group_generation": group_generation,
            "group_going_back": group_going_back,
        }
