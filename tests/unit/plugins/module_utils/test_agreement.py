# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output, common_length, compare


def output(text, finish="length", ids=True):
    words = text.split()
    return Output(text, tuple(hash(word) for word in words) if ids else (), len(words), finish)


def test_equal_answers_agree_as_a_whole():
    same = compare(output("one two three"), output("one two three"))
    assert (same.whole, same.tokens) == (True, 3)


@pytest.mark.parametrize("ids", [True, False])
def test_two_answers_part_where_their_tokens_do(ids):
    parted = compare(output("aa bb cc dd ee", ids=ids), output("aa bb cc xx yy", ids=ids))
    assert (parted.whole, parted.tokens) == (False, 3)
    assert "cc dd" in parted.expected
    assert "cc xx" in parted.got


def test_only_the_place_where_they_part_is_shown():
    common = "a " * 500
    parted = compare(output(common + "left" + " z" * 200), output(common + "right" + " z" * 200))
    assert len(parted.expected) < 100
    assert parted.expected.startswith("…")
    assert parted.expected.endswith("…")
    assert "left" in parted.expected
    assert "right" in parted.got


@pytest.mark.parametrize("ids", [True, False])
def test_an_answer_that_was_allowed_fewer_tokens_agrees(ids):
    assert compare(output("aa bb", ids=ids), output("aa bb cc dd", ids=ids)).whole
    assert compare(output("aa bb cc dd", ids=ids), output("aa bb", ids=ids)).whole


@pytest.mark.parametrize("ids, tokens", [(True, 2), (False, 1)])
def test_an_answer_that_stopped_earlier_does_not(ids, tokens):
    # Without token ids the number is an estimate by length, rounded down.
    parted = compare(output("aa bb cc dd", ids=ids), output("aa bb", "stop", ids=ids))
    assert (parted.whole, parted.tokens) == (False, tokens)


def test_the_same_text_from_other_tokens_agrees():
    assert compare(Output("ab", (1,), 1, "length"), Output("ab", (2, 3), 2, "length")).whole


def test_nothing_agrees_with_nothing_only():
    empty = Output("", (), 0, "stop")
    assert compare(empty, empty).whole
    assert not compare(output("aa bb"), empty).whole


def test_common_beginnings_have_a_length():
    assert common_length("abcd", "abxd") == 2
    assert common_length((1, 2), (1, 2, 3)) == 2
    assert common_length("", "a") == 0
