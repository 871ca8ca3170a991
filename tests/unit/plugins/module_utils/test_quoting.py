# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.quoting import closing_quote, is_quoted, unescaped
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "escapes", "inside"),
    [
        ("plain' rest", 0, "plain"),
        (r"it\'s' rest", 0, r"it\'s"),
        (r"ends with backslash \\' rest", 0, r"ends with backslash \\"),
        (r"quoted once more\' rest", 1, "quoted once more"),
        (r"with \\\' inside\' rest", 1, r"with \\\' inside"),
    ],
)
def test_a_string_ends_at_its_own_quote(text, escapes, inside):
    assert text[:closing_quote(text, 0, "'", escapes) - escapes] == inside


def test_a_string_that_is_never_closed_has_no_end():
    assert closing_quote(r"never \' closed", 0, "'") == -1


@settings(deadline=None)
@given(st.text())
def test_what_python_quotes_is_one_string(text):
    assert is_quoted(repr(text))


@pytest.mark.parametrize("text", ["", "'", "'a' 'b'", "a'b'", "'a\\'"])
def test_other_text_is_not_one_string(text):
    assert not is_quoted(text)


@settings(deadline=None)
@given(st.text())
def test_escapes_of_repr_are_resolved(text):
    assert unescaped(repr(text)[1:-1]) == text


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=0xFFFF)))
def test_escapes_of_json_are_resolved(text):
    assert unescaped(json.dumps(text)[1:-1]) == text
