# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of a server that was started ten times, each start followed by the log of its requests."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

UNIT = "sglang.service"
INSTANCES = 10
BOOT = "0" * 31 + "1"
FIRST_MOMENT = 1772366400 * 10**6
REQUESTS = (
    b'[2026-03-01 12:00:00] INFO:     10.0.0.7:%d - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    b"[2026-03-01 12:00:00 TP0] Decode batch, #running-req: 3, #full token: %d, full token usage: 0.02, mamba num: 3,"
    b" mamba usage: 0.06, accept len: 2.71, accept rate: 0.57, cuda graph: True, gen throughput (token/s): 211.40,"
    b" #queue-req: 0",
    b"[2026-03-01 12:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: %d, #cached-token: 0, full token usage: 0.01,"
    b" #running-req: 2, #queue-req: 0",
)


def invocation_id(instance):
    return "%032x" % (0xABC000 + instance)


def make(folder, start_up, records):
    """A journal with ``records`` records in all, made once and kept in ``folder``.

    :arg start_up: file with the lines that a server prints until it is ready.
    :returns: the directory for ``journalctl --directory``.
    """
    recipe = hashlib.sha256(pathlib.Path(__file__).read_bytes() + start_up.read_bytes()).hexdigest()[:12]
    directory = folder / ("%d-%s" % (records, recipe))
    if directory.is_dir():
        return directory
    unfinished = folder / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    # Two writers, each with half of the instances: systemd-journal-remote uses one core.
    halves = (range(INSTANCES // 2), range(INSTANCES // 2, INSTANCES))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda half: _write(unfinished, start_up, half, records // INSTANCES), halves))
    unfinished.rename(directory)
    return directory


def _write(directory, start_up, instances, records):
    target = directory / ("instances-%d.journal" % instances[0])
    with subprocess.Popen(
        [sys.executable, __file__, str(start_up), str(instances[0]), str(len(instances)), str(records)],
        stdout=subprocess.PIPE,
    ) as source:
        done = subprocess.run(
            [_journal_remote(), "--output=%s" % target, "-"],
            stdin=source.stdout,
            capture_output=True,
            check=False,
            text=True,
        )
    if done.returncode or source.returncode:
        sys.exit("The journal could not be made: %s" % done.stderr.strip())


def _journal_remote():
    for path in ("/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote"):
        if pathlib.Path(path).exists():
            return path
    sys.exit("systemd-journal-remote is missing (Debian: apt-get install systemd-journal-remote)")


def entries(start_up, instance, records):
    """Yield the entries of one instance in the journal export format."""
    moment = FIRST_MOMENT + instance * records * 1000
    pid = 1000 + 10 * instance
    by_systemd = {"_PID": 1, "INVOCATION_ID": invocation_id(instance), "UNIT": UNIT, "_SYSTEMD_UNIT": "init.scope"}
    by_server = {"_PID": pid, "_SYSTEMD_INVOCATION_ID": invocation_id(instance), "_SYSTEMD_UNIT": UNIT}
    by_server.update(_TRANSPORT="stdout", SYSLOG_IDENTIFIER="python", _COMM="python", PRIORITY=6)
    yield _entry(moment, by_systemd, b"Started %s - SGLang (MTP enabled)." % UNIT.encode())
    lines = start_up.read_bytes().splitlines()
    lines = lines[: _last(lines, b"The server is fired up") + 1]
    for number in range(1, records - 1):
        text = lines[number - 1] if number <= len(lines) else REQUESTS[number % len(REQUESTS)] % number
        yield _entry(moment + number * 1000, by_server, text)
    yield _entry(moment + records * 1000 - 1, by_systemd, b"%s: Deactivated successfully." % UNIT.encode())


def _last(lines, words):
    return max(number for number, line in enumerate(lines) if words in line)


def _entry(moment, fields, message):
    head = "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n" % (moment, moment, BOOT)
    body = "".join("%s=%s\n" % field for field in fields.items())
    return b"%s%sMESSAGE\n%s%s\n\n" % (head.encode(), body.encode(), struct.pack("<Q", len(message)), message)


if __name__ == "__main__":
    first, count, size = map(int, sys.argv[2:5])
    for started in range(first, first + count):
        sys.stdout.buffer.writelines(entries(pathlib.Path(sys.argv[1]), started, size))
