# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ``server_args=`` line of a SGLang server: one tokenizer for both of its forms.

Up to 0.5.18 it is the repr of a dataclass, ``ServerArgs(model_path='...', ...)``; from 0.5.19 on the repr of a dict,
``{'model_path': '...', ...}`` (sglang/srt/entrypoints/engine.py). Values are Python literals, nested calls or the reprs
of enums; a string among them may hold anything, even ``mem_fraction_static=0.99``.
"""

from __future__ import annotations

import re

from ansible_collections.llmops.sglang.plugins.module_utils.quoting import closing_quote, is_quoted, unescaped

CALL = "call"
DICT = "dict"
MISSING = object()

OPENING = re.compile(r"\s{0,8}(?:(ServerArgs\s{0,4}\()|(\{))")
STRUCTURE = re.compile(r"""["'()\[\]{}<>,=:]""")
CLOSER_OF = {"(": ")", "[": "]", "{": "}", "<": ">"}
NUMBER = re.compile(r"[-+]?(?:[0-9][0-9_]{0,40})?\.?[0-9]{0,40}(?:[eE][-+]?[0-9]{1,4})?|[-+]?inf|nan")
ENUM = re.compile(r"<?(?:[A-Za-z_]\w{0,80}\.){1,6}([A-Za-z_]\w{0,80})(?::.*>)?", re.DOTALL)
CONSTANTS = {"None": None, "True": True, "False": False}


class Banner:
    """The fields of one ``server_args=`` line.

    ``form`` is :data:`CALL` or :data:`DICT`. ``complete`` is False when the text ends before the closing bracket: a
    field that is missing then may still have been set. ``raw`` maps a field's name to its value as printed.
    """

    def __init__(self, form, raw, complete):
        self.form = form
        self.raw = raw
        self.complete = complete

    def __eq__(self, other):
        return isinstance(other, Banner) and (self.form, self.raw) == (other.form, other.raw)

    __hash__ = None

    def __contains__(self, name):
        return name in self.raw

    def get(self, name, default=MISSING):
        """The value of a field: a Python scalar, or the text as printed where it is none; :data:`MISSING` if absent."""
        raw = self.raw.get(name)
        return default if raw is None else scalar(raw)

    def number(self, name, default):
        """The value of a field that counts something, ``default`` when it is absent or no positive number."""
        value = self.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

    def shown(self, name):
        """A field as it stands in the line, for evidence: ``mem_fraction_static=0.75`` or ``'tp_size': 4``."""
        written = "%s=%s" if self.form == CALL else "'%s': %s"
        return written % (name, self.raw[name])


def parse(text):
    """The text behind ``server_args=`` to a :class:`Banner`, or None when it has neither form.

    Reads each character once; never raises, whatever the text.
    """
    opening = OPENING.match(text)
    if not opening:
        return None
    form = CALL if opening.group(1) else DICT
    raw, complete = _fields(text, opening.end(), form)
    return Banner(form, raw, complete)


def scalar(raw):
    """A printed value to None, a bool, an int, a float or a str; text of another kind stays as it is.

    The repr of an enum gives the member's name: ``<Algorithm.EAGLE: 1>`` is ``"EAGLE"``.
    """
    raw = raw.strip()
    if raw in CONSTANTS:
        return CONSTANTS[raw]
    if is_quoted(raw):
        return unescaped(raw[1:-1])
    if raw and NUMBER.fullmatch(raw):
        return _number(raw)
    enum = ENUM.fullmatch(raw)
    return enum.group(1) if enum else raw


def _fields(text, start, form):
    raw = {}
    separator = "=" if form == CALL else ":"
    brackets = [")" if form == CALL else "}"]
    field_start, value_start = start, None
    position = start
    while True:
        match = STRUCTURE.search(text, position)
        if not match:
            return raw, False
        mark = match.group()
        position = match.end()
        if mark in "'\"":
            position = closing_quote(text, position, mark) + 1
            if not position:
                return raw, False
        elif mark in CLOSER_OF:
            brackets.append(CLOSER_OF[mark])
        elif mark in ")]}>":
            _close(brackets, mark)
        elif len(brackets) == 1 and mark == separator and value_start is None:
            value_start = match.end()
        if not brackets or mark == "," and len(brackets) == 1:
            if value_start is not None:
                name = _name(text[field_start:value_start - 1])
                raw.setdefault(name, text[value_start:match.start()].strip())
            field_start, value_start = match.end(), None
        if not brackets:
            return raw, True


def _close(brackets, mark):
    """Take away the bracket that ``mark`` closes. A lone ``<`` or ``>`` is no bracket but a sign in some repr."""
    if mark == ">":
        if brackets[-1] == ">":
            brackets.pop()
        return
    while brackets[-1] == ">":
        brackets.pop()
    if brackets[-1] == mark:
        brackets.pop()


def _name(text):
    text = text.strip()
    return unescaped(text[1:-1]) if is_quoted(text) else text


def _number(raw):
    for kind in (int, float):
        try:
            return kind(raw)
        except ValueError:
            continue
    return raw
