# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: how far two greedy answers to the same prompt agree, and where they part."""

from __future__ import annotations

import dataclasses
import itertools

BEFORE, AFTER = 30, 50


@dataclasses.dataclass(frozen=True)
class Output:
    """One answer. ``token_ids`` is empty where the release does not show them; ``finish`` is ``stop`` or ``length``."""

    text: str
    token_ids: tuple
    tokens: int
    finish: str


@dataclasses.dataclass(frozen=True)
class Agreement:
    """``tokens``: how many the answers have in common. ``whole``: they are the same as far as both were allowed to go.

    ``expected`` and ``got`` are the two texts around the place where they part.
    """

    tokens: int
    whole: bool
    expected: str = ""
    got: str = ""


def compare(expected, got):
    """The :class:`Agreement` of two :class:`Output`."""
    if expected.text == got.text and expected.finish == got.finish:
        return Agreement(min(expected.tokens, got.tokens), True)
    tokens, whole = _common_tokens(expected, got)
    if whole:
        return Agreement(tokens, True)
    place = common_length(expected.text, got.text)
    return Agreement(tokens, False, _around(expected.text, place), _around(got.text, place))


def common_length(first, second):
    """Length of the common beginning of two sequences."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second))
    return sum(1 for _pair in same)


def _common_tokens(expected, got):
    if expected.token_ids and got.token_ids:
        common = common_length(expected.token_ids, got.token_ids)
        return common, _ended_together(expected.token_ids, got.token_ids, common, expected, got)
    common = common_length(expected.text, got.text)
    whole = _ended_together(expected.text, got.text, common, expected, got)
    return _estimated_tokens(expected, common), whole


def _ended_together(first, second, common, expected, got):
    """One answer is the beginning of the other because it was allowed fewer tokens, not because it stopped."""
    shorter = expected if len(first) <= len(second) else got
    return common == min(len(first), len(second)) and (len(first) == len(second) or shorter.finish == "length")


def _estimated_tokens(output, characters):
    return int(output.tokens * characters / len(output.text)) if output.text else 0


def _around(text, place):
    start = max(0, place - BEFORE)
    return ("…" if start else "") + text[start : place + AFTER] + ("…" if place + AFTER < len(text) else "")
