# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: a unit with its parts on disk, its unproven candidate and its last known good.

Beside the unit, ``state_directory/<unit>/`` holds

* ``last_known_good``: the launch to go back to. With an empty unit there was none, so going back means removing it;
* ``proven``: the launch that was proven last;
* ``replaced``: what was taken off the disk last without becoming the last known good, so that nothing is lost;
* ``candidate``: the digest of the unit that was written last and is not proven yet.

The first three are launches, a unit with its parts (see ``launch_parts``), each kept as ``NAME.tar`` and, the unit
alone, as ``NAME.service`` (see ``kept_launch``). Parts may hold keys: the folder and all in it are for root only.
"""

from __future__ import annotations

import dataclasses
import os
import time

from ansible_collections.llmops.sglang.plugins.module_utils import (
    atomic_file,
    launch_file,
    launch_parts,
    restart_decision,
    unit_file,
)
from ansible_collections.llmops.sglang.plugins.module_utils.kept_launch import UNIT_MODE, KeptLaunch, Launch


# Copies keep the age of what they are copied from: it tells whether a server runs it already.
class UnitStore:
    """The launch of one unit. Texts are str; ``None`` stands for a file that does not exist."""

    def __init__(self, unit, unit_directory, state_directory):
        self.path = os.path.abspath(os.path.join(unit_directory, unit))
        folder = os.path.join(state_directory, unit)
        self._last_known_good = KeptLaunch(folder, "last_known_good", self.path)
        self._proven = KeptLaunch(folder, "proven", self.path)
        self._replaced = KeptLaunch(folder, "replaced", self.path)
        self._candidate_path = os.path.join(folder, "candidate")
        self.last_known_good_path = self._last_known_good.plain_path

    @property
    def on_disk(self):
        """The :class:`Launch` as it is now."""
        unit = launch_file.read(self.path, follow=True)
        return Launch(unit, self.parts_of(unit.text if unit else ""))

    @property
    def last_known_good(self):
        """The :class:`Launch` to go back to; None when nothing was replaced yet."""
        return self._last_known_good.read()

    @property
    def current(self):
        """The text of the unit on disk."""
        unit = launch_file.read(self.path, follow=True)
        return unit.text if unit else None

    @property
    def unproven(self):
        """Whether the unit on disk was written by :meth:`install` and is not proven yet."""
        current, candidate = self.current, launch_file.read(self._candidate_path)
        return None not in (current, candidate) and candidate.text == unit_file.digest(current)

    def parts_of(self, text):
        """The parts that are on disk of a unit with this text."""
        return launch_parts.find(self.path, text)

    def parts_changed_at(self, launch):
        """When one of its parts was written, or a drop-in was taken away, for the last time; 0.0 when it has none."""
        folder = launch_parts.drop_in_folder(self.path)
        removed_at = os.stat(folder).st_mtime if os.path.isdir(folder) else 0.0
        return max([removed_at, *[part.written_at for part in launch.parts]])

    def install(self, text, unit_runs=True, parts_run=True):
        """Write ``text`` as the unit; what it replaces becomes the last known good unless it is unproven itself.

        ``unit_runs`` says whether the running instance was started from the unit on disk, ``parts_run`` whether it
        was started since the parts were changed. The way back and the candidate's name are on disk before the unit
        changes, so that a run that is interrupted between any two steps still knows both.
        """
        if not self.unproven:
            before = self.on_disk
            good = self._known_good(before, unit_runs, parts_run)
            if before.text not in (None, good.text):
                self._replaced.write(Launch(before.unit, ()))
            self._last_known_good.write(good)
        atomic_file.replace(self._candidate_path, unit_file.digest(text))
        atomic_file.replace(self.path, text, mode=UNIT_MODE)

    def _known_good(self, before, unit_runs, parts_run):
        """What to go back to from a unit that replaces ``before``.

        Parts are changed before the unit is: where ``before`` was proven, or was put back and no server was started
        since its parts were changed, it is kept with the parts that it had then. A unit that was edited by hand and
        never ran is no known good once there is a proven one.
        """
        proven, put_back = self._proven.read(), self._last_known_good.read()
        if proven and proven.text == before.text:
            return _with_parts(proven, before)
        if put_back and put_back.text == before.text and not parts_run:
            return _with_parts(put_back, before)
        if proven and None not in (proven.text, before.text) and not unit_runs:
            return _with_parts(proven, before)
        return before

    def way_back(self, running_since=0.0):
        """What going back changes: pairs of :class:`LaunchFile` as it is and as it will be, None for no file.

        Needs a last known good. The unit comes last: as long as it is the candidate, the way back is not complete.
        A part that the running instance has loaded, by its start at ``running_since`` (seconds since the epoch), is
        replaced by a new file, and else by one of the age that it had: so its age tells whether to restart.
        """
        good = self.last_known_good
        pairs = [] if good.parts is None else self._parts_back(good.parts)
        changes = [(before, _aged(before, after, running_since)) for before, after in pairs if before != after]
        unit = launch_file.read(self.path, follow=True)
        return changes if unit == good.unit else [*changes, (unit, good.unit)]

    def _parts_back(self, parts):
        drop_ins = {file.path: file for file in launch_parts.own_drop_ins(self.path)}
        kept = {file.path: file for file in parts if not self._is_shared(file.path)}
        for path in sorted({**drop_ins, **kept}):
            yield launch_file.read(path), kept.get(path)

    def _is_shared(self, path):
        own = launch_parts.is_own_drop_in(self.path, path)
        return not own and launch_parts.named_elsewhere(self.path, path)

    def restore(self, changes):
        """Make the ``changes`` of :meth:`way_back`. Interrupted between any two steps, it is finished when repeated."""
        if changes:
            self._keep_replaced([before for before, _after in changes if before and before.path != self.path])
        for before, after in changes:
            if after is None:
                os.unlink(before.path)
            else:
                launch_file.put(after)
        self._forget_candidate()

    def _keep_replaced(self, parts):
        """Keep the unit on disk with ``parts``, and with those that an interrupted way back took from it already."""
        unit, earlier = launch_file.read(self.path, follow=True), self._replaced.read()
        taken = {}
        if unit and earlier and earlier.text == unit.text:
            taken = {file.path: file for file in earlier.parts or ()}
        taken.update((file.path, file) for file in parts)
        self._replaced.write(Launch(unit, tuple(taken.values())))

    def mark_proven(self):
        """The launch on disk is no candidate any more, and the one to come back to after an edit that never ran."""
        self._proven.write(self.on_disk)
        self._forget_candidate()

    def _forget_candidate(self):
        if os.path.exists(self._candidate_path):
            os.unlink(self._candidate_path)


def _with_parts(kept, before):
    """``kept``, with the parts of ``before`` when its own are not known."""
    return kept if kept.parts is not None else dataclasses.replace(kept, parts=before.parts)


def _aged(before, after, running_since):
    loaded = before and after and not restart_decision.is_newer(before.written_at, running_since)
    return dataclasses.replace(after, written_at=time.time()) if loaded else after
