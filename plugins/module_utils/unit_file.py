# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: the text of a systemd unit: quoting, and the fingerprint that a running instance carries."""

from __future__ import annotations

import hashlib
import re

FINGERPRINT_VARIABLE = "LLMOPS_SGLANG_UNIT"
_FINGERPRINT_LINE = re.compile(r"^Environment=%s=([0-9a-f]+)\n" % FINGERPRINT_VARIABLE, re.MULTILINE)
_PORT_FLAG = re.compile(r"\s--port[=\s]+\"?([0-9]+)\b")
_HOST_FLAG = re.compile(r"\s--host[=\s]+\"?([^\s\"]+)")
_SAFE_WORD = re.compile(r"^[A-Za-z0-9_@+=:,./-]+$")


def digest(text):
    """SHA-256 of a unit's text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def with_fingerprint(text):
    """The unit with the fingerprint of its own text as an environment variable of its service.

    :raises ValueError: when the text has no ``[Service]`` section to carry it.
    """
    bare = _FINGERPRINT_LINE.sub("", text)
    head, section, body = bare.partition("[Service]\n")
    if not section:
        raise ValueError("the unit has no [Service] section")
    return "%s%sEnvironment=%s=%s\n%s" % (head, section, FINGERPRINT_VARIABLE, digest(bare)[:16], body)


def fingerprint(text):
    """The fingerprint that a unit's text carries, or ``""``."""
    found = _FINGERPRINT_LINE.search(text)
    return found.group(1) if found else ""


def quote_word(word, dollar="$$"):
    """One word as systemd.service(5) reads it back: specifiers, variables, quotes and control characters escaped."""
    word = word.replace("%", "%%").replace("$", dollar)
    if _SAFE_WORD.match(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"%s"' % escaped


def exec_line(words):
    """A command as the value of ``ExecStart=``, each flag with its values on a line of its own."""
    lines = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(quote_word(word))
        else:
            lines[-1] += " " + quote_word(word)
    return " \\\n    ".join(lines)


def environment_line(name, value):
    """One ``Environment=`` assignment; systemd expands no variables there, so a dollar stays one dollar."""
    return "Environment=" + quote_word("%s=%s" % (name, value), dollar="$")


def port(text):
    """The port that the unit's command line names with ``--port``, the last one counting; 0 when it names none."""
    found = _PORT_FLAG.findall(text)
    return int(found[-1]) if found else 0


def host(text):
    """The address that the unit's command line names with ``--host``, the last one counting; ``""`` for none."""
    found = _HOST_FLAG.findall(text)
    return found[-1] if found else ""
