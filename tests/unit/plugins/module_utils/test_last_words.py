# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.journal import JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.last_words import LINES, read_last_words
from ansible_collections.llmops.sglang.plugins.module_utils.server_log import LogRecord


class Reading(contextlib.AbstractContextManager):
    def __init__(self, records, ends):
        self._records = list(records)
        self._ends = ends

    def __exit__(self, *exception):
        pass

    def read(self, timeout):
        if self._records:
            return [self._records.pop(0)]
        return None if self._ends else []


def journal_of(texts, ends=True, newest=()):
    """A journal whose start holds texts; without ends it never comes to an end."""
    records = [LogRecord(text, pid=700) for text in texts]

    class Journal:
        def __init__(self, invocation_id):
            assert invocation_id == "aaaa"

        def from_start(self):
            return Reading(records, ends)

        def last(self, count):
            return Reading([LogRecord(text) for text in newest][-count:], True)

    return Journal


def captured(fixtures, name):
    return (fixtures / "captured" / name).read_text(errors="replace").split("\n")


def test_the_last_lines_and_the_cause_of_a_real_death(fixtures):
    words = read_last_words("aaaa", journal=journal_of(captured(fixtures, "0.5.23-realserver-draft-missing.log")))
    assert words.problem == ""
    assert any("Repo id must be in the form" in line for line in words.lines)
    assert [cause["code"] for cause in words.diagnosis] == ["draft_path_missing"]


def test_keys_that_the_banner_shows_are_not_in_the_last_lines(fixtures):
    lines = captured(fixtures, "0.5.23-realserver-nextn-tp2-keys.log")
    lines.append("[2026-11-29 15:18:01] refused a request with adminkey")
    words = read_last_words("aaaa", journal=journal_of(lines))
    assert "refused a request with ********" in words.lines[-1]
    assert all("adminkey" not in line and "userkey" not in line for line in words.lines)


def test_there_are_only_so_many_lines_without_colours_and_progress():
    texts = ["line %d" % number for number in range(100)] + [
        "\x1b[1;33mwarned\x1b[0m",
        "10%\r 50%\r100% loaded\r",
        "\n\n",
    ]
    words = read_last_words("aaaa", journal=journal_of(texts))
    assert len(words.lines) == LINES - 1
    assert words.lines[-2:] == ["warned", "100% loaded"]


def test_a_long_line_is_cut():
    (line,) = read_last_words("aaaa", journal=journal_of(["x" * 5000])).lines
    assert len(line) < 500


def test_a_journal_without_end_is_read_from_its_end():
    ticks = iter(range(1000))
    journal = journal_of(["early"], ends=False, newest=["late", "latest"])
    words = read_last_words("aaaa", journal=journal, clock=lambda: next(ticks))
    assert words.lines == ["late", "latest"]


def test_a_journal_that_may_not_be_read_says_so():
    def journal(_invocation_id):
        raise JournalError("The journal may not be read.")

    words = read_last_words("aaaa", journal=journal)
    assert (words.lines, words.diagnosis, words.problem) == ([], [], "The journal may not be read.")


@pytest.mark.parametrize("how, codes", [("replaced", ["instance_replaced"]), ("dead", [])])
def test_an_instance_that_was_replaced_is_told_from_one_that_died(how, codes):
    words = read_last_words("aaaa", how, journal=journal_of(["nothing unusual"]))
    assert [cause["code"] for cause in words.diagnosis] == codes
