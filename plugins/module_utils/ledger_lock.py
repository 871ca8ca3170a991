# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: the lock that keeps two rollouts from acting on one ledger at the same time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file


class LockedError(Exception):
    """Another run holds the ledger; the text names it and the way out."""


class LedgerLock:
    """``<ledger>/lock.json``: which process on which machine acts for which rollout.

    A process is known by its number and its start time, so that a number that was used again is no false owner.
    """

    def __init__(self, root, pid):
        self._path = os.path.join(root, "lock.json")
        self._pid = pid

    def take(self, rollout):
        """Take the lock for a rollout.

        :returns: the rollout of a dead run whose stale lock was taken over, or ``""``.
        :raises LockedError: while another run lives, or when that can't be told because it is on another machine.
        """
        with self._alone():
            owner = self._read()
            if owner is not None and _lives(owner) and not self._is_mine(owner):
                raise LockedError(self._refusal(owner))
            mine = {"pid": self._pid, "started": _start_ticks(self._pid), "machine": _machine(), "rollout": rollout}
            atomic_file.replace(self._path, json.dumps(mine))
        return "" if owner is None or self._is_mine(owner) else str(owner.get("rollout", ""))

    def release(self):
        """Give the lock back; another run's lock is left alone."""
        with self._alone():
            if self._is_mine(self._read() or {}):
                os.unlink(self._path)

    @contextlib.contextmanager
    def _alone(self):
        folder = os.open(os.path.dirname(self._path), os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _is_mine(self, owner):
        return owner.get("pid") == self._pid and owner.get("machine") == _machine() and _lives(owner)

    def _read(self):
        try:
            with open(self._path, encoding="utf-8") as source:
                owner = json.load(source)
        except FileNotFoundError:
            return None
        except ValueError:
            return {}
        return owner if isinstance(owner, dict) else {}

    def _refusal(self, owner):
        return "The rollout %s (process %s on %s) holds this ledger: wait for its end; if it is gone, remove %s" % (
            owner.get("rollout", "?"),
            owner.get("pid", "?"),
            owner.get("machine", "?"),
            self._path,
        )


def _machine():
    return socket.gethostname()


def _lives(owner):
    if not isinstance(owner.get("pid"), int):
        return False
    if owner.get("machine") != _machine():
        return True
    return _start_ticks(owner.get("pid")) == owner.get("started")


def _start_ticks(pid):
    """Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat); None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
