# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is secret in a log, and how it is removed.

Two ways lead to a secret. The text itself shows it: it stands behind a name that says key, token, secret or password,
inside a URL, behind ``Bearer``, or has the shape of a known token. Or it was learned from such a place and stands bare
somewhere else. SGLang prints ``api_key``, ``admin_api_key`` and ``ssl_keyfile_password`` in clear in every release up
to 0.5.23 (sglang/srt/entrypoints/engine.py).
"""

from __future__ import annotations

import re

from ansible_collections.llmops.sglang.plugins.module_utils.quoting import closing_quote, unescaped

REMOVED = "********"

# A value shorter than this could be a part of anything: it is removed behind its name only.
SHORTEST_WORD = 4
# From this length on a value is removed even inside a longer word.
SHORTEST_PART = 6
# No name of an option, a variable or a header is longer.
LONGEST_NAME = 80
LONGEST_URL_SECRET = 512
DEEPEST_STRUCTURE = 60
MOST_SPELLINGS = 2000

KEYWORD = re.compile(r"key|token|secret|passw|passphrase|pwd|credential|authorization", re.IGNORECASE)
SECRET_WORD = re.compile(r".*(?:key|token|pwd|credentials?|authorization)|keys|keyfile|.*(?:secret|passw|passphrase).*")
WORD_IN_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")

# What may stand between a name and its value: the quote that ends the name, then = or : or, after a flag, a space.
ASSIGNMENT = re.compile(r"""(?:\\{0,7}["'])?\s{0,3}(?:=>|[=:])\s{0,3}""")
FLAG_SEPARATOR = re.compile(r"""\\{0,7}["']\s{0,3},\s{0,3}|\s{1,3}""")
SCHEME = re.compile(r"(?:bearer|basic|digest|token)\s{1,3}", re.IGNORECASE)
LIST_START = re.compile(r"(?:[\[(]\s{0,3})?")
QUOTE = re.compile(r"""[bru]{0,2}(\\{0,7})(["'])""")
NEXT_QUOTE = re.compile(r"""\s{0,3},\s{0,3}[bru]{0,2}(\\{0,7})(["'])""")
ERROR_NAME = re.compile(r"(?:Error|Exception|Warning)$")
UNQUOTED = re.compile(r"""[^\s&"'<>]+""")
WORD = re.compile(r"\S+")
LITERAL = re.compile(r"(?:None|True|False|null|true|false|[-+]?[0-9][0-9.eE+-]*)(?=$|[\s,;&)}\]\\\"'%/])")
CLOSERS = ",;.)]}>\\\"'"

URL_CREDENTIALS = re.compile(r"://([^\s/\"'<>\\]{1,%d})@" % LONGEST_URL_SECRET)
BEARER = re.compile(r"""\bbearer\s{1,3}([^\s"',;]+)""", re.IGNORECASE)
TOKEN_SHAPE = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_(?!transformers)[A-Za-z0-9]{8,}|(?<![\w-])sk-[A-Za-z0-9_-]{6,}|gh[opsur]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|AKIA[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{4,}[\w.-]*)"
)
# Where a word begins: also behind an escape of a URL or of a quoted string.
WORD_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
# A cheap look at a line before the thorough one.
HINT = re.compile(
    r"key|token|secret|passw|passphrase|pwd|credential|authorization|bearer|://|hf_|sk-|gh[opsur]_|_pat_|glpat|nvapi"
    r"|AKIA|eyJ",
    re.IGNORECASE,
)
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def is_secret_name(name):
    """Whether a name such as ``admin_api_key``, ``hfToken`` or ``ssl-keyfile-password`` promises a secret."""
    words = [word.lower() for word in WORD_IN_NAME.findall(name[-LONGEST_NAME:])]
    return any(SECRET_WORD.fullmatch(word) for word in words)


def find_secrets(text):
    """The secret values that ``text`` shows as such, as a list of ``(start, end, sure)`` that don't overlap.

    ``sure`` is False where the value may as well be an ordinary word of a sentence (``password: required``): it is
    removed there, but not everywhere else.
    """
    if not HINT.search(text):
        return []
    found = _named_values(text)
    found += [match.span(1) + (True,) for match in URL_CREDENTIALS.finditer(text)]
    found += [match.span(1) + (_looks_random(match.group(1)),) for match in BEARER.finditer(text)]
    found += [match.span() + (True,) for match in TOKEN_SHAPE.finditer(text)]
    return _without_overlaps(found)


def secret_values(text):
    """The values in ``text`` that are secret for sure, for :meth:`Redactor.learn`."""
    values = []
    for start, end, sure in find_secrets(text):
        if sure:
            value = text[start:end]
            values.append(value)
            if text[start - 3:start] == "://" and ":" in value:
                values.append(value.partition(":")[2])
    return values


def is_secret_value(name, value):
    """Whether the value of the field ``name`` must not be shown. Switches and counts (``max_total_tokens``) may be."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return False
    if isinstance(value, (int, float)):
        return is_secret_name(name) and "token" not in name.lower()
    return is_secret_name(name) or isinstance(value, str) and name.lower().endswith("tokens")


class Redactor:
    """Removes secrets from text: those it has learned, and those that the text shows as such."""

    def __init__(self):
        self._spellings = set()
        self._longest_first = None

    def learn(self, value):
        """Remember a secret: from now on :meth:`redact` removes it wherever and however it is written.

        Values of less than four characters can't be told from ordinary text, and are not remembered.
        """
        if value is None or isinstance(value, bool) or len(self._spellings) >= MOST_SPELLINGS:
            return
        for plain in _parts(str(value)):
            self._spellings.update(spelling for spelling in _spellings(plain) if len(spelling) >= SHORTEST_WORD)
        self._longest_first = None

    def learn_structure(self, value):
        """Learn the values of all secret keys in dicts and lists."""
        for secret in _secrets_of(value):
            self.learn(secret)

    def redact(self, text):
        """:returns: ``text`` with every secret replaced by ``********``."""
        if self._longest_first is None:
            # The longest first, so that none leaves a part of another behind.
            self._longest_first = sorted(self._spellings, key=len, reverse=True)
        for spelling in self._longest_first:
            if spelling in text:
                text = _without(text, spelling)
        pieces = []
        position = 0
        for start, end, _sure in find_secrets(text):
            pieces += [text[position:start], REMOVED]
            position = end
        return "".join(pieces) + text[position:]


def redact_structure(value, redactor, depth=0):
    """A copy of dicts, lists and strings: strings redacted, values of secret keys removed."""
    if depth > DEEPEST_STRUCTURE:
        return REMOVED
    if isinstance(value, dict):
        return {
            _redacted_key(name, redactor): (
                REMOVED if is_secret_value(str(name), item) else redact_structure(item, redactor, depth + 1)
            )
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_structure(item, redactor, depth + 1) for item in value]
    return redactor.redact(value) if isinstance(value, str) else value


def _redacted_key(name, redactor):
    return redactor.redact(name) if isinstance(name, str) else name


def _secrets_of(value, depth=0):
    if depth > DEEPEST_STRUCTURE:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if is_secret_value(str(name), item):
                yield from _leaves(item, depth)
            else:
                yield from _secrets_of(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets_of(item, depth + 1)
    elif isinstance(value, str):
        yield from secret_values(value)


def _leaves(value, depth):
    if depth > DEEPEST_STRUCTURE:
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, depth + 1)
    else:
        yield value


def _named_values(text):
    found = []
    position = 0
    for match in KEYWORD.finditer(text):
        if match.start() < position:
            continue
        start, position = _name_around(text, match.start(), position)
        name = text[start:position]
        if ERROR_NAME.search(name):
            continue
        spans = _values_after(text, position, name)
        if spans:
            found += spans
            position = spans[-1][1]
    return found


def _name_around(text, position, limit):
    start = position
    while start > limit and position - start < LONGEST_NAME and text[start - 1] in NAME_CHARACTERS:
        start -= 1
    end = position
    while end < len(text) and end - position < LONGEST_NAME and text[end] in NAME_CHARACTERS:
        end += 1
    return start, end


def _values_after(text, position, name):
    if not is_secret_name(name):
        return _quoted_values(text, ASSIGNMENT.match(text, position)) if name.lower().endswith("tokens") else []
    flag = name.startswith("--")
    separator = ASSIGNMENT.match(text, position) or (FLAG_SEPARATOR.match(text, position) if flag else None)
    if not separator:
        return []
    return _quoted_values(text, separator) or _unquoted_value(text, separator, name, flag)


def _quoted_values(text, separator):
    """One quoted value, or a list of them. A quote that is never closed goes on to the end of the text."""
    found = []
    position = LIST_START.match(text, separator.end()).end() if separator else -1
    quote = QUOTE.match(text, position) if separator else None
    while quote:
        escapes = len(quote.group(1))
        end = closing_quote(text, quote.end(), quote.group(2), escapes)
        closed = end >= 0
        end = end - escapes if closed else len(text)
        scheme = SCHEME.match(text, quote.end(), end)
        start = scheme.end() if scheme else quote.end()
        if start < end:
            found.append((start, end, True))
        quote = NEXT_QUOTE.match(text, end + escapes + 1) if closed and position > separator.end() else None
    return found


def _unquoted_value(text, separator, name, flag):
    start = separator.end()
    literal = LITERAL.match(text, start)
    if literal and _is_harmless(name, literal.group()):
        return []
    scheme = SCHEME.match(text, start)
    start = scheme.end() if scheme else start
    value = (WORD if flag else UNQUOTED).match(text, start)
    if not value or flag and value.group().startswith("--"):
        return []
    end = value.end() if flag else start + len(value.group().rstrip(CLOSERS))
    sure = flag or separator.group().endswith("=") or _looks_random(text[start:end])
    return [(start, end, sure)] if start < end else []


def _is_harmless(name, literal):
    return literal[0] not in "+-0123456789" or "token" in name.lower()


def _looks_random(value):
    """Whether an unquoted value is no ordinary word of a sentence."""
    return len(value) >= 10 or any(character.isdigit() or character.isupper() for character in value[1:])


def _without_overlaps(spans):
    kept = []
    for start, end, sure in sorted(spans):
        if kept and start < kept[-1][1]:
            last_start, last_end, last_sure = kept[-1]
            kept[-1] = (last_start, max(end, last_end), last_sure or sure)
        else:
            kept.append((start, end, sure))
    return kept


def _parts(value):
    """The value, and what remains of it when it is printed by terminals, split into lines or cut from its closers."""
    plain = {value, value.strip(), value.rstrip(CLOSERS), ANSI.sub("", value)}
    if "\\" in value:
        plain.add(unescaped(value))
    if "\n" in value or "\r" in value:
        plain.update(part for part in re.split(r"[\r\n]+", value) if len(part) >= SHORTEST_PART)
    return [part for part in plain if part.strip()]


def _spellings(value):
    """How Python, JSON, shells and URLs write ``value``, and how each prints what another has written."""
    once = {value, repr(value)[1:-1], _in_quotes(value, "'"), _in_quotes(value, '"'), *_json(value), *_url(value)}
    twice = set(once)
    for spelling in once:
        if "\\" in spelling or "'" in spelling or '"' in spelling:
            twice.update((repr(spelling)[1:-1], _in_quotes(spelling, "'"), _in_quotes(spelling, '"')))
    return twice


def _in_quotes(value, mark):
    return value.replace("\\", "\\\\").replace(mark, "\\" + mark)


def _json(value):
    import json

    return json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]


def _url(value):
    if re.fullmatch(r"[A-Za-z0-9_.~-]*", value):
        return ()
    from urllib.parse import quote, quote_plus

    encoded = value.encode("utf-8", "surrogatepass")
    return quote(encoded, safe=""), quote(encoded), quote_plus(encoded)


def _without(text, spelling):
    if len(spelling) >= SHORTEST_PART:
        return text.replace(spelling, REMOVED)
    return re.sub(WORD_BEGINS + re.escape(spelling) + "(?![A-Za-z0-9])", REMOVED, text)
