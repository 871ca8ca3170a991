# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a service instance left in the journal when it died: its last lines and what went wrong."""

from __future__ import annotations

import collections
import dataclasses
import re
import time

from ansible_collections.llmops.sglang.plugins.module_utils import conditions, diagnosis
from ansible_collections.llmops.sglang.plugins.module_utils.facts import StartFacts
from ansible_collections.llmops.sglang.plugins.module_utils.journal import Journal, JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogParser

LINES = 20
LONGEST_LINE = 400
SECONDS = 5.0

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclasses.dataclass(frozen=True)
class LastWords:
    """``lines`` are without secrets, oldest first; ``problem`` says why the journal could not be read, or ``""``."""

    lines: list
    diagnosis: list
    problem: str = ""


def read_last_words(invocation_id, how="dead", journal=Journal, clock=time.monotonic):
    """The :class:`LastWords` of an instance that has ended.

    Its start is read too: the banner shows which secrets the last lines must not show.

    :arg how: ``dead`` or ``replaced``.
    :arg journal: makes a :class:`~journal.Journal` of an InvocationID.
    """
    facts = StartFacts()
    try:
        records = _records(journal(invocation_id).from_start(), clock, facts)
        if records is None:
            records = _records(journal(invocation_id).last(LINES), clock)
    except JournalError as error:
        return LastWords([], [], str(error))
    judgement = conditions.judge(facts, conditions.Expectations.from_options({}), instance=how)
    return LastWords(tidy(records or [], facts.redactor), diagnosis.diagnose(facts, judgement, how))


def tidy(records, redactor):
    """Records to at most ``LINES`` lines, without colours, progress bars' overwritten states and secrets."""
    text = "\n".join(redactor.redact(_ANSI.sub("", record.text)) for record in records)
    lines = [line.strip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n")]
    return [_shorten(line) for line in lines if line][-LINES:]


def _records(reading, clock, facts=None):
    """The newest records; ``None`` when the end of the journal was not reached in time."""
    newest = collections.deque(maxlen=LINES)
    parser = LogParser()
    deadline = clock() + SECONDS
    with reading:
        while clock() < deadline:
            records = reading.read(1.0)
            if records is None:
                return list(newest)
            for record in records:
                newest.append(record)
                for event in parser.feed(record) if facts else ():
                    facts.add(event)
    return None


def _shorten(line):
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + " …"
