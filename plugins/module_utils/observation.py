# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One start, as far as its log has told it: records in, judgement out. Pure."""

from __future__ import annotations

import datetime

from ansible_collections.llmops.sglang.plugins.module_utils import conditions, facts, server_log

# The start of the largest deployments prints some thousand lines; what comes later is the log of requests.
START_RECORDS = 20000


class Observation:
    """Takes the records of one start and says when no further one is needed.

    :arg expectations: what is asserted, a ``conditions.Expectations``.

    ``release`` is the SGLang release if it is known from elsewhere, as ``conditions.judge`` takes it.
    """

    def __init__(self, expectations):
        self.release = None
        self.facts = facts.StartFacts()
        self.records = 0
        self.last_cursor = ""
        self._first_timestamp = ""
        self._expectations = expectations
        self._parser = server_log.LogParser()
        self._http_fields = None
        self._http_ready = False
        self._judged = True
        self._decided = False

    def take(self, *records):
        for record in records:
            self._first_timestamp = self._first_timestamp or record.timestamp
            self.last_cursor = record.cursor
            for event in self._parser.feed(record):
                self.facts.add(event)
                self._judged = False
        self.records += len(records)

    def take_answer(self, fields, ready):
        """What the server itself answered: the fields of ``/server_info``, and whether it is past its warm-up."""
        self._http_fields = fields
        self._http_ready = ready
        self._judged = False

    def judge(self, instance, gap=""):
        """:arg instance: ``alive``, ``dead``, ``replaced`` or ``unknown``; ``gap``: why lines may be missing, if so."""
        return conditions.judge(
            self.facts,
            self._expectations,
            instance=instance,
            release=self.release,
            http_fields=self._http_fields,
            http_ready=self._http_ready,
            gap=gap,
        )

    @property
    def decided(self):
        """Whether no further line can change the verdict on a server that is alive."""
        if not self._judged:
            self._decided = self.judge("alive").decided
            self._judged = True
        return self._decided

    @property
    def failed(self):
        """Whether a line was seen after which no server goes on."""
        return bool(self.facts.fatal)

    @property
    def past_start(self):
        """Whether more records were taken than a start has, so that what comes now is the log of requests."""
        return self.records >= START_RECORDS

    @property
    def told_all(self):
        """Whether nothing more is to be learned: the start is over, and the verdict is decided."""
        return self.past_start or bool(self.facts.ready) and self.decided

    def first_age(self, now):
        """Seconds from the first record until ``now`` (seconds since 1970); 0 when the log does not tell."""
        return age(self._first_timestamp, now)


def age(timestamp, now):
    """Seconds from an ISO 8601 timestamp in UTC until ``now`` (seconds since 1970), at least 0; 0 when it is none."""
    try:
        written = datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return max(0.0, now - written.timestamp())
