# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follow a start in the journal until its verdict is decided or can't come any more."""

from __future__ import annotations

import time

from ansible_collections.llmops.sglang.plugins.module_utils.observation import age

# Seconds between two looks at the unit. A record of systemd about the unit brings a look at once.
LOOK_INTERVAL = 1.5
# A process that has died may have lines in journald's queue: they are waited for until it is quiet this long.
QUIET = 1.0
LONGEST_DRAIN = 10.0


def follow(reading, observation, look, timeout, progress_timeout, clock=time.monotonic, now=time.time):
    """Read until ``observation`` needs no more.

    :arg reading: has ``read(seconds)``, which returns records, or ``None`` when there are no more to come.
    :arg look: returns what has become of the instance: ``alive``, ``dead`` or ``replaced``.
    :arg timeout: seconds in all; ``progress_timeout``: seconds without any new record.
    :returns: why it has ended: ``decided``, ``failed`` (a fatal line), ``dead``, ``replaced``, ``silent``, ``timeout``,
        ``past_start`` (more records than a start has, and still no verdict) or ``journal_ended``. The last look is
        younger than the last record that was waited for.
    """
    begin = quiet_since = clock()
    next_look = begin + LOOK_INTERVAL
    ended = None
    while ended is None:
        records = reading.read(max(0.0, min(next_look, begin + timeout, quiet_since + progress_timeout) - clock()))
        if records:
            observation.take(*records)
            # What is old when it is read has been followed by silence, but more of it may be on its way.
            quiet_since = clock() - min(age(records[-1].timestamp, now()), progress_timeout - QUIET)
        ended = _reached(observation, records)
        if ended is None and clock() - quiet_since >= progress_timeout:
            ended = "silent"
        if ended is None and clock() - begin >= timeout:
            ended = "timeout"
        if ended or clock() >= next_look or any(record.origin == "systemd" for record in records):
            fate = look()
            next_look = clock() + LOOK_INTERVAL
            ended = ended if fate == "alive" else fate
    if ended in ("failed", "dead", "replaced"):
        drain(reading, observation, clock)
        fate = look()
        ended = fate if fate == "replaced" else ended
    return ended


def drain(reading, observation, clock=time.monotonic):
    """Take what the journal still holds of an instance that has ended or is about to."""
    deadline = clock() + LONGEST_DRAIN
    while clock() < deadline:
        records = reading.read(QUIET)
        if not records:
            return
        observation.take(*records)


def _reached(observation, records):
    if records is None:
        return "journal_ended"
    if observation.failed:
        return "failed"
    if observation.decided:
        return "decided"
    if observation.past_start:
        return "past_start"
    return None
