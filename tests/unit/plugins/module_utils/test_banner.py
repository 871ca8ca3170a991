# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ast

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import banner
from ansible_collections.llmops.sglang.tests.unit.starts import CAPTURED
from hypothesis import given, settings
from hypothesis import strategies as st


def _captured_lines():
    for path in sorted(CAPTURED.glob("*.log")):
        for line in path.read_text(errors="replace").split("\n"):
            head, found, text = line.partition("] server_args=")
            if found and head.startswith("[20"):
                yield pytest.param(text, id=path.stem)


def python_reads(text):
    """What Python itself makes of the line: name to value, where the value is a literal."""
    if text.startswith("{"):
        return ast.literal_eval(text)
    fields = {}
    for keyword in ast.parse(text, mode="eval").body.keywords:
        try:
            fields[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            fields[keyword.arg] = None
    return fields


@pytest.mark.parametrize("text", list(_captured_lines()))
def test_every_captured_line_reads_as_python_reads_it(text):
    fields = banner.parse(text)
    expected = python_reads(text)
    assert fields.complete
    assert list(fields.raw) == list(expected)
    for name, value in expected.items():
        if isinstance(value, (str, bool, int, float)):
            assert fields.get(name) == value
            assert type(fields.get(name)) is type(value)


def test_a_field_name_inside_a_string_is_no_field():
    fields = banner.parse("""ServerArgs(name="it's, a (name), mem_fraction_static=0.99", mem_fraction_static=0.75)""")
    assert fields.get("mem_fraction_static") == 0.75
    assert fields.get("name") == "it's, a (name), mem_fraction_static=0.99"


def test_nested_calls_and_enums_stay_one_value():
    text = (
        "ServerArgs(graphs=Config(decode=Phase(backend='full, or not', bs=[1, 2])), mode=<Mode.FAST: 1>, x=<Y: 'a, b'>)"
    )
    fields = banner.parse(text)
    assert list(fields.raw) == ["graphs", "mode", "x"]
    assert fields.get("mode") == "FAST"
    assert fields.get("graphs") == "Config(decode=Phase(backend='full, or not', bs=[1, 2]))"


@pytest.mark.parametrize("raw", ["<function f at 0x7f>", "lambda x: x > 1", "a < b", "[]", "object(", "1e", "--", "."])
def test_a_value_of_no_known_kind_stays_text(raw):
    assert banner.scalar(raw) == raw


@pytest.mark.parametrize("text", ["", "ServerArgs", "[1, 2]", "'ServerArgs(a=1)'", "Other(a=1)"])
def test_text_of_another_form_is_no_banner(text):
    assert banner.parse(text) is None


def test_a_line_that_was_cut_keeps_what_it_has():
    fields = banner.parse("ServerArgs(tp_size=4, speculative_algorithm='EAG")
    assert not fields.complete
    assert fields.get("tp_size") == 4
    assert fields.get("speculative_algorithm") is banner.MISSING


def test_text_behind_the_closing_bracket_does_not_count():
    fields = banner.parse("{'tp_size': 4} {'tp_size': 8}, 'x': 1")
    assert fields.complete
    assert fields.raw == {"tp_size": "4"}


def test_of_a_field_printed_twice_the_first_counts():
    assert banner.parse("ServerArgs(a=1, a=2)").get("a") == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.from_regex(r"[a-z_]{1,20}", fullmatch=True), VALUES, max_size=12)


@settings(deadline=None)
@given(FIELDS)
def test_any_fields_are_read_back_from_both_forms(fields):
    as_call = "ServerArgs(%s)" % ", ".join("%s=%r" % item for item in fields.items())
    for text in (as_call, repr(fields)):
        read = banner.parse(text)
        assert read.complete
        assert list(read.raw) == list(fields)
        for name, value in fields.items():
            expected = repr(value) if isinstance(value, (list, dict)) else value
            assert read.get(name) == expected
