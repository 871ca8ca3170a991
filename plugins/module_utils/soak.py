# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does a proven instance stay as it was proven: the same instance, healthy, without a fatal line, drafts accepted."""

from __future__ import annotations

import dataclasses
import time

from ansible_collections.llmops.sglang.plugins.module_utils import server_log
from ansible_collections.llmops.sglang.plugins.module_utils.journal import JournalError

SECONDS_BETWEEN_CHECKS = 5.0
# A busy server can miss one check (its health request waits behind a long prefill); a dead one misses all.
MISSED_CHECKS_OF_A_DEAD_SERVER = 3
# An average over fewer decode lines says little: one long context accepts less than the rest.
DECODE_LINES_TO_JUDGE = 3


@dataclasses.dataclass
class SoakFindings:
    """What was seen: seconds watched, checks answered and missed, accept lengths of decode lines, and what ended it."""

    seconds: float = 0.0
    checks: int = 0
    missed: int = 0
    accept_lengths: list = dataclasses.field(default_factory=list)
    trouble: str = ""

    @property
    def accept_length(self):
        """Mean over the decode lines, or None when no traffic flowed."""
        if not self.accept_lengths:
            return None
        return round(sum(self.accept_lengths) / len(self.accept_lengths), 3)


def watch(findings, reading, watched, check_health, seconds, clock=time.monotonic):
    """Watch an instance for ``seconds``, or until something speaks against it.

    :arg reading: a running :class:`journal.JournalReading`. ``watched``: a :class:`watched_instance.WatchedInstance`.
    :arg check_health: asks the server once; returns the answer's state, ``"200"`` when it is healthy.
    :returns: ``findings``, filled.
    :raises journal.JournalError: when the journal can't be followed any more.
    """
    parser = server_log.LogParser()
    start = clock()
    next_check = start
    missed_in_a_row = 0
    while not findings.trouble and clock() - start < seconds:
        records = reading.read(min(1.0, max(0.0, start + seconds - clock())))
        if records is None:
            raise JournalError("journalctl ended while the instance was watched.")
        for record in records:
            take(findings, parser.feed(record))
        findings.trouble = findings.trouble or watched.trouble()
        if not findings.trouble and clock() >= next_check:
            state = check_health()
            findings.checks += 1
            missed_in_a_row = 0 if state == "200" else missed_in_a_row + 1
            findings.missed += state != "200"
            if missed_in_a_row >= MISSED_CHECKS_OF_A_DEAD_SERVER:
                findings.trouble = "%d health checks in a row were not answered with 200, the last one with %s." % (
                    missed_in_a_row,
                    state,
                )
            next_check = clock() + SECONDS_BETWEEN_CHECKS
        findings.seconds = round(clock() - start, 1)
    findings.trouble = findings.trouble or watched.trouble(now=True)
    return findings


def take(findings, events):
    """Note what the events of a journal record say of a running server."""
    for event in events:
        if isinstance(event, server_log.FatalLine):
            findings.trouble = "The server printed a fatal line (%s)." % event.code.replace("_", " ")
        elif isinstance(event, server_log.DecodeBatch) and event.accept_length is not None:
            findings.accept_lengths.append(event.accept_length)


def judge(findings, min_accept_length):
    """Verdict and reason. ``min_accept_length`` of None leaves the accept length unjudged."""
    if findings.trouble:
        return "refuted", "After %s s of the soak: %s" % (findings.seconds, findings.trouble)
    length = findings.accept_length
    judged = min_accept_length is not None and len(findings.accept_lengths) >= DECODE_LINES_TO_JUDGE
    if judged and length < min_accept_length:
        return "refuted", "The accept length fell to %s over %d decode lines, below %s." % (
            length,
            len(findings.accept_lengths),
            min_accept_length,
        )
    traffic = "no traffic flowed" if length is None else "the accept length was %s" % length
    return "proven", "The same instance stayed healthy for %s s; %s." % (findings.seconds, traffic)
