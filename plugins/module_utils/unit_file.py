# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: the text of a systemd unit: quoting, the files it names, the fingerprint that a running instance carries."""

from __future__ import annotations

import hashlib
import re

FINGERPRINT_VARIABLE = "LLMOPS_SGLANG_UNIT"
# About a tenth of a second.
GUESS_ROUNDS = 200000
_FINGERPRINT_LINE = re.compile(r"^Environment=%s=([0-9a-f]+)\n" % FINGERPRINT_VARIABLE, re.MULTILINE)
_GENERATION_LINE = re.compile(r"^Environment=LLMOPS_SGLANG_GROUP=([0-9a-f]+)$", re.MULTILINE)
_PORT_FLAG = re.compile(r"\s--port[=\s]+\"?([0-9]+)\b")
_NODE_RANK_FLAG = re.compile(r"\s--node-rank[=\s]+\"?([0-9]+)\b")
_HOST_FLAG = re.compile(r"\s--host[=\s]+\"?([^\s\"]+)")
# SGLang's own file of flags, YAML (sglang/srt/server_args_config_parser.py, 0.5.x).
_CONFIG_FLAG = re.compile(r"\s--config[=\s]+(?:\"([^\"]+)\"|'([^']+)'|([^\s\"']+))")
_PATTERN = re.compile(r"[*?\[]")
_SAFE_WORD = re.compile(r"^[A-Za-z0-9_@+=:,./-]+$")


def digest(text):
    """SHA-256 of a unit's text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def with_fingerprint(text, parts=()):
    """The unit with a fingerprint as an environment variable of its service.

    It is the fingerprint of the unit's own text and of its ``parts``, pairs of a path and a content: a running
    instance shows whether it was started with these.

    :raises ValueError: when the text has no ``[Service]`` section to carry it.
    """
    bare = _FINGERPRINT_LINE.sub("", text)
    head, section, body = bare.partition("[Service]\n")
    if not section:
        raise ValueError("the unit has no [Service] section")
    launch = bare + "".join("\0%s\0%s" % (path, _slow_digest(path, content)) for path, content in parts)
    return "%s%sEnvironment=%s=%s\n%s" % (head, section, FINGERPRINT_VARIABLE, digest(launch)[:16], body)


def _slow_digest(path, content):
    """A unit can be read by everybody, and a part may hold a key: nobody shall find it by trying."""
    content, path = (text.encode("utf-8", "surrogateescape") for text in (content, path))
    return hashlib.pbkdf2_hmac("sha256", content, path, GUESS_ROUNDS).hex()


def generation(text):
    """The generation of its group that a unit's text carries, or ``""``: the same on all hosts of a group."""
    found = _GENERATION_LINE.search(text or "")
    return found.group(1) if found else ""


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


def node_rank(text):
    """The rank in its group that a command line gives a server with ``--node-rank``; 0 when it names none."""
    found = _NODE_RANK_FLAG.findall(text)
    return int(found[-1]) if found else 0


def commanding(texts):
    """Of the texts of a unit and its drop-ins, in systemd's order, the one whose ``ExecStart=`` is in force."""
    return ([text for text in texts if sets_exec_start(text)] or list(texts[:1]) or [""])[-1]


def sets_exec_start(text):
    return bool(_values(text, "ExecStart"))


def named_files(texts):
    """Absolute paths of the files that a unit and its drop-ins name with ``--config`` and ``EnvironmentFile=``.

    A path with a specifier, a variable or a pattern is left out: what it leads to is not told here.
    """
    found = []
    for path in [path for text in texts for path in _values(text, "EnvironmentFile")]:
        # An empty assignment takes back all before it, see systemd.exec(5).
        found = found + [path.lstrip("-")] if path else []
    configs = [flag for value in _values(commanding(texts), "ExecStart") for flag in _CONFIG_FLAG.findall(value)]
    found = [path for path in found if not _PATTERN.search(path)] + ["".join(spellings) for spellings in configs[-1:]]
    return list(dict.fromkeys(path for path in (_literal(path) for path in found) if path.startswith("/")))


def _values(text, name):
    """What a text assigns to ``name``, continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", ";"))]
    assignments = (line.partition("=") for line in "\n".join(lines).replace("\\\n", " ").splitlines())
    return [value.strip() for key, _equals, value in assignments if key.strip() == name]


def _literal(path):
    """``path`` without systemd's escapes; ``""`` when a specifier or a variable is left in it."""
    bare = path.replace("%%", "").replace("$$", "")
    return "" if "%" in bare or "$" in bare else path.replace("%%", "%").replace("$$", "$")
