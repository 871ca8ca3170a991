# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import journal_entries
from ansible_collections.llmops.sglang.plugins.module_utils.journal_entries import (
    EntryReader,
    LineSplitter,
    matches,
    message_bytes,
    of_instance,
    parse_entry,
    utc_timestamp,
)
from hypothesis import given
from hypothesis import strategies as st

INSTANCE = "a" * 32
OTHER = "b" * 32


def entry(message, **fields):
    return dict({"MESSAGE": message, "_PID": "7", "_SYSTEMD_INVOCATION_ID": INSTANCE, "__CURSOR": "s=1"}, **fields)


def as_lines(*entries):
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


def texts(*entries):
    reader = EntryReader(of_instance(INSTANCE))
    return [record.text for record in reader.feed(as_lines(*entries)) + reader.end()]


@given(st.lists(st.binary(max_size=20)), st.integers(1, 9))
def test_a_splitter_gives_the_same_lines_however_the_chunks_fall(lines, size):
    stream = b"\n".join(line.replace(b"\n", b"") for line in lines)
    splitter = LineSplitter(100)
    found = []
    for start in range(0, len(stream), size):
        found += splitter.feed(stream[start : start + size])
    found += splitter.end()
    assert found == (stream[:-1] if stream.endswith(b"\n") else stream).split(b"\n") * bool(stream)


def test_of_a_line_that_is_too_long_the_beginning_is_kept():
    splitter = LineSplitter(4)
    assert splitter.feed(b"abc") == []
    assert splitter.feed(b"defgh") == []
    assert splitter.feed(b"i\nj\nlonger\n") == [b"abcd", b"j", b"long"]
    assert splitter.end() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", b"plain"),
        ("käse", "käse".encode()),
        ([27, 91, 49, 109, 255], b"\x1b[1m\xff"),
        (["first", "second"], b"first\nsecond"),
        (["first", [255, 0], None], b"first\n\xff\x00\n"),
        (None, b""),
        ([], b""),
        (17, b""),
        ([300, -1, 65], b"\n\n"),
        ([True, "x"], b"\nx"),
        ([[[1], [2]]], b""),
        ("\ud800", b"?"),
    ],
)
def test_message_bytes(value, expected):
    assert message_bytes(value) == expected


@pytest.mark.parametrize(
    "line",
    [b"", b"no json", b"[1]", b'"text"', b'{"MESSAGE": ', b"\xff\xfe", b"[" * 100000, b'{"a": ' + b"9" * 5000 + b"}x"],
)
def test_what_is_no_entry_is_none(line):
    assert parse_entry(line) is None


def test_the_origin_says_who_wrote_about_the_instance():
    origin = of_instance(INSTANCE)
    dropped = journal_entries.MESSAGES_DROPPED
    assert origin({"_SYSTEMD_INVOCATION_ID": INSTANCE, "_PID": "7"}) == "service"
    assert origin({"INVOCATION_ID": INSTANCE, "_PID": "1"}) == "systemd"
    assert origin({"OBJECT_SYSTEMD_INVOCATION_ID": INSTANCE, "MESSAGE_ID": dropped}) == "journald"
    assert origin({"_SYSTEMD_INVOCATION_ID": OTHER}) is None
    assert origin({"OBJECT_SYSTEMD_INVOCATION_ID": INSTANCE}) is None


def test_another_process_can_not_pose_as_systemd():
    forged = {"INVOCATION_ID": INSTANCE, "_PID": "4711", "_SYSTEMD_INVOCATION_ID": OTHER}
    assert of_instance(INSTANCE)(forged) is None
    assert of_instance(INSTANCE)(dict(forged, _SYSTEMD_INVOCATION_ID=INSTANCE)) == "service"


def test_a_record_carries_what_the_journal_knows():
    reader = EntryReader(of_instance(INSTANCE))
    (record,) = reader.feed(as_lines(entry("hello", __REALTIME_TIMESTAMP="1772366400123456", __CURSOR="s=1;i=2")))
    assert (record.text, record.pid, record.cursor, record.origin) == ("hello", 7, "s=1;i=2", "service")
    assert record.timestamp == "2026-03-01T12:00:00.123456Z"


def test_lines_that_journald_has_split_are_joined_again():
    assert texts(
        entry("server_args=Server", _LINE_BREAK="line-max", _STREAM_ID="1"),
        entry("Args(", _LINE_BREAK="line-max", _STREAM_ID="1"),
        entry(")", _STREAM_ID="1"),
        entry("next", _STREAM_ID="1"),
    ) == ["server_args=ServerArgs()", "next"]


def test_a_joined_line_has_the_place_of_its_beginning():
    reader = EntryReader(of_instance(INSTANCE))
    reader.feed(as_lines(entry("a", _LINE_BREAK="line-max", __CURSOR="first", __REALTIME_TIMESTAMP="1")))
    (record,) = reader.feed(as_lines(entry("b", __CURSOR="second", __REALTIME_TIMESTAMP="2")))
    assert (record.cursor, record.timestamp) == ("first", "1970-01-01T00:00:00.000001Z")


def test_pieces_of_two_processes_are_not_mixed():
    assert texts(
        entry("one-", _LINE_BREAK="line-max", _PID="1001"),
        entry("two-", _LINE_BREAK="line-max", _PID="1002"),
        entry("one", _PID="1001"),
        entry("two", _PID="1002"),
    ) == ["one-one", "two-two"]


def test_a_character_that_was_cut_in_two_is_whole_again():
    word = "käse".encode()
    assert texts(entry(list(word[:2]), _LINE_BREAK="line-max"), entry(list(word[2:]))) == ["käse"]


@pytest.mark.parametrize("line_break", ["nul", "eof", "pid-change"])
def test_other_line_breaks_end_a_line(line_break):
    assert texts(entry("one", _LINE_BREAK=line_break), entry("two")) == ["one", "two"]


def test_a_line_whose_end_was_never_written_is_not_lost():
    assert texts(entry("cut", _LINE_BREAK="line-max")) == ["cut"]


def test_lines_without_end_do_not_fill_the_memory():
    reader = EntryReader(of_instance(INSTANCE))
    limit = journal_entries.OPEN_LINES_LIMIT
    stream = as_lines(*[entry("%d" % number, _LINE_BREAK="line-max", _PID=str(number)) for number in range(limit + 3)])
    assert [record.text for record in reader.feed(stream)] == ["0", "1", "2"]
    assert len(reader.end()) == limit


def test_one_line_is_never_longer_than_the_limit(monkeypatch):
    monkeypatch.setattr(journal_entries, "TEXT_LIMIT", 5)
    pieces = [entry("abc", _LINE_BREAK="line-max") for _piece in range(4)]
    assert texts(*pieces, entry("end")) == ["abcab"]


def test_entries_of_others_and_what_is_no_entry_are_left_out_and_counted():
    reader = EntryReader(of_instance(INSTANCE))
    stream = b"garbage\n\n" + as_lines(entry("mine"), entry("not mine", _SYSTEMD_INVOCATION_ID=OTHER), entry(None))
    assert [record.text for record in reader.feed(stream)] == ["mine", ""]
    assert (reader.losses.unreadable, reader.losses.without_text) == (1, 1)


@pytest.mark.parametrize("value", [None, "", "x", "9" * 40, [], "-" + "9" * 30])
def test_a_timestamp_that_is_none_is_empty(value):
    assert utc_timestamp(value) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(journal_entries.FIELDS + ("__CURSOR", "__REALTIME_TIMESTAMP"))


@given(st.lists(st.dictionaries(FIELDS, JSON | st.just(INSTANCE)), max_size=5))
def test_no_entry_makes_the_reader_fail(entries):
    reader = EntryReader(of_instance(INSTANCE))
    for record in reader.feed(as_lines(*entries)) + reader.end():
        assert isinstance(record.text, str)
        assert isinstance(record.cursor, str)


def test_the_match_arguments_name_the_instance_and_no_time():
    arguments = matches(INSTANCE)
    assert [argument for argument in arguments if argument != "+"] == [
        "_SYSTEMD_INVOCATION_ID=" + INSTANCE,
        "INVOCATION_ID=" + INSTANCE,
        "OBJECT_SYSTEMD_INVOCATION_ID=" + INSTANCE,
        "MESSAGE_ID=" + journal_entries.MESSAGES_DROPPED,
    ]
