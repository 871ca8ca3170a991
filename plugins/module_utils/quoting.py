# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quoted strings as Python's repr and JSON print them: where one ends and what it says, in time linear in the text."""

from __future__ import annotations

import re

ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}


def closing_quote(text, position, mark, escapes=0):
    """The index of the ``mark`` that ends the string which begins at ``position``, or -1 when it is never closed.

    :arg escapes: how many backslashes stand before the opening mark: 0 for a plain string, 1 for one that was quoted
        once more (``\\"``), 3 for twice. The closing mark has as many.
    """
    end = text.find(mark, position)
    while end >= 0:
        if _backslashes_before(text, end, position) % (2 * (escapes + 1)) == escapes:
            return end
        end = text.find(mark, end + 1)
    return -1


def is_quoted(text):
    """Whether the whole of ``text`` is one quoted string."""
    return len(text) >= 2 and text[0] in "'\"" and closing_quote(text, 1, text[0]) == len(text) - 1


def unescaped(text):
    """The inside of a quoted string with its escapes resolved."""
    return ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match):
    digits = match.group(1) or match.group(2) or match.group(3)
    if not digits:
        return LETTERS.get(match.group(4), match.group(4))
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF else match.group()


def _backslashes_before(text, position, limit):
    start = position
    while start > limit and text[start - 1] == "\\":
        start -= 1
    return position - start
