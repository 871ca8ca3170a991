# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: does a service need a restart, told from what the running instance was started with."""

from __future__ import annotations

# A clock that was stepped shifts one of the two times compared; a unit edited by hand is older than this.
CLOCK_TOLERANCE_SECONDS = 2.0


def restart_reason(
    instance, unit_fingerprint, running_fingerprint, unit_modified_at, started_at, parts_modified_at=None
):
    """Why the service has to be restarted, as a clause; ``""`` when it has not.

    :arg instance: the :class:`service.ServiceInstance` as it is now.
    :arg unit_fingerprint: what the unit on disk carries; ``running_fingerprint``: what the main process carries.
    :arg unit_modified_at: when the unit on disk was written; ``started_at``: when the instance was started; both
        in seconds since the epoch. ``parts_modified_at``: the same of the unit's parts, by what each is called.
    """
    if not instance.alive:
        return "the service is %s" % (instance.active_state or "not loaded")
    if not instance.main_pid:
        return "the service has no running process: it is %s (%s)" % (instance.active_state, instance.sub_state)
    for name, modified_at in (parts_modified_at or {}).items():
        if is_newer(modified_at, started_at):
            return "%s was written after the running instance had started" % name
    if running_fingerprint != unit_fingerprint:
        if not running_fingerprint:
            return "the running instance was started from a unit that this role did not write"
        return "the running instance was started from another unit"
    if is_newer(unit_modified_at, started_at):
        return "the unit was written after the running instance had started"
    return ""


def is_newer(modified_at, started_at):
    """Whether a file was written after an instance had started, so that the instance can't run with it."""
    return modified_at > started_at + CLOCK_TOLERANCE_SECONDS
