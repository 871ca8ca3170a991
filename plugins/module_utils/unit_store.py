# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: a unit file on disk, its unproven candidate and its last known good.

Beside the unit, ``state_directory/<unit>/`` holds

* ``last_known_good.service``: the unit to go back to. Empty: there was none, so going back means removing the unit;
* ``proven.service``: the unit that was proven last;
* ``candidate``: the digest of the unit that was written last and is not proven yet;
* ``replaced.service``: what was taken off the disk last without becoming the last known good, so that nothing is lost.
"""

from __future__ import annotations

import os

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file, unit_file


# Copies keep the age of what they are copied from: it tells whether a server runs it already.
class UnitStore:
    """The files of one unit. Texts are str; ``None`` stands for a file that does not exist."""

    def __init__(self, unit, unit_directory, state_directory):
        self.path = os.path.join(unit_directory, unit)
        self._folder = os.path.join(state_directory, unit)
        self.last_known_good_path = os.path.join(self._folder, "last_known_good.service")
        self._candidate_path = os.path.join(self._folder, "candidate")
        self._proven_path = os.path.join(self._folder, "proven.service")
        self._replaced_path = os.path.join(self._folder, "replaced.service")

    @property
    def current(self):
        return _read(self.path)

    @property
    def last_known_good(self):
        return _read(self.last_known_good_path)

    @property
    def unproven(self):
        """Whether the unit on disk was written by :meth:`install` and is not proven yet."""
        current = self.current
        return current is not None and _read(self._candidate_path) == unit_file.digest(current)

    def install(self, text, current_runs=True):
        """Write ``text`` as the unit; what it replaces becomes the last known good unless it is unproven itself.

        A unit that was edited by hand and never ran is no known good either, once there is a proven one:
        ``current_runs`` says whether the running instance was started from the unit on disk.
        The way back and the candidate's name are on disk before the unit changes, so that a run that is
        interrupted between any two steps still knows both.
        """
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        current, proven = self.current, _read(self._proven_path)
        if proven is not None and current not in (None, proven) and not self.unproven and not current_runs:
            atomic_file.replace(self._replaced_path, current)
            atomic_file.replace(self.last_known_good_path, proven, written_at=os.stat(self._proven_path).st_mtime)
        elif not self.unproven:
            atomic_file.replace(self.last_known_good_path, current or "", written_at=self.modified_at())
        atomic_file.replace(self._candidate_path, unit_file.digest(text))
        atomic_file.replace(self.path, text, mode=0o644)

    def restore(self):
        """Put the last known good back, or remove the unit when there was none before. Needs a last known good."""
        good, current = self.last_known_good, self.current
        if current is not None and current != good:
            atomic_file.replace(self._replaced_path, current)
        if good and current != good:
            atomic_file.replace(self.path, good, mode=0o644, written_at=os.stat(self.last_known_good_path).st_mtime)
        elif not good and current is not None:
            os.unlink(self.path)
        self._forget_candidate()

    def mark_proven(self):
        """The unit on disk is no candidate any more, and the one to come back to after an edit that never ran."""
        atomic_file.replace(self._proven_path, self.current or "", written_at=self.modified_at())
        self._forget_candidate()

    def _forget_candidate(self):
        if os.path.exists(self._candidate_path):
            os.unlink(self._candidate_path)

    def modified_at(self):
        """When the unit on disk was last written, in seconds since the epoch; None without a unit."""
        try:
            return os.stat(self.path).st_mtime
        except FileNotFoundError:
            return None


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as source:
            return source.read()
    except FileNotFoundError:
        return None
