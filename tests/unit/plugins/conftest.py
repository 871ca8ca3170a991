# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real journal files with chosen records, made by systemd's own tool."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time

import pytest

JOURNAL_REMOTE = next(
    (
        path
        for path in ("/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote")
        if os.path.exists(path)
    ),
    None,
)


def export_entry(fields):
    """A journal entry in the journal export format. A value is one line of text, bytes, or a list of those."""
    lines = []
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, bytes):
                lines.append(b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(value)), value))
            else:
                lines.append(b"%s=%s\n" % (name.encode(), str(value).encode()))
    return b"".join(lines) + b"\n"


@pytest.fixture
def make_journal(tmp_path):
    """A function that writes entries (dicts of journal fields) into a journal and returns its directory.

    Called again with the same name it adds to that journal, as journald does to the one it writes.
    """
    if JOURNAL_REMOTE is None or shutil.which("journalctl") is None:
        pytest.skip("needs journalctl and systemd-journal-remote (Debian: systemd-journal-remote)")
    written = 0

    def write(entries, name="journal"):
        nonlocal written
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        now = int(time.time() * 1e6)
        stream = b""
        for entry in entries:
            written += 1
            head = {
                "__REALTIME_TIMESTAMP": now + written,
                "__MONOTONIC_TIMESTAMP": 1000000 + written,
                "_BOOT_ID": "0" * 31 + "1",
            }
            stream += export_entry(dict(head, **entry))
        subprocess.run(
            [JOURNAL_REMOTE, "--output=%s" % (directory / "system.journal"), "-"],
            input=stream,
            check=True,
            capture_output=True,
            timeout=30,
        )
        return str(directory)

    return write
