# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: a launch, a unit with its parts, as it is kept below a name.

``NAME.tar`` holds all files below their paths on the node, with mode, owner and age, and is replaced in one step:
``tar -C / -xpf NAME.tar`` puts them back by hand. ``NAME.service`` is the unit alone, in plain text for a person; it
is empty when there was no unit. Where only that one exists, the parts are not known.
"""

from __future__ import annotations

import dataclasses
import io
import os
import tarfile

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file, launch_file
from ansible_collections.llmops.sglang.plugins.module_utils.launch_file import LaunchFile

UNIT_MODE = 0o644


@dataclasses.dataclass(frozen=True)
class Launch:
    """``unit`` is a :class:`LaunchFile`, None for no unit; ``parts`` a tuple of them, None when they are not known."""

    unit: LaunchFile
    parts: tuple

    @property
    def text(self):
        """The unit's text, None for no unit."""
        return self.unit.text if self.unit else None

    @property
    def written_at(self):
        """When the unit was written, in seconds since the epoch; 0.0 for no unit."""
        return self.unit.written_at if self.unit else 0.0


class KeptLaunch:
    """The launch that is kept as ``name`` in ``folder``; its unit belongs to ``unit_path``."""

    def __init__(self, folder, name, unit_path):
        self._folder = folder
        self._unit_path = unit_path
        self.plain_path = os.path.join(folder, name + ".service")
        self._archive_path = os.path.join(folder, name + ".tar")

    def read(self):
        """The :class:`Launch`; None when none is kept.

        :raises OSError: when the archive can't be read.
        """
        plain = launch_file.read(self.plain_path)
        files = _unpacked(self._archive_path)
        unit = next((file for file in files or () if file.path == self._unit_path), None)
        if unit or files is not None and not (plain and plain.text):
            return Launch(unit, tuple(file for file in files if file is not unit))
        if plain is None:
            return None
        return Launch(self._as_unit(plain) if plain.text else None, None)

    def write(self, launch):
        """Keep a launch whose parts are known. The archive comes first: it alone is whole at any moment."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        atomic_file.replace(self._archive_path, _packed([*filter(None, [launch.unit]), *launch.parts]))
        written_at = launch.unit.written_at if launch.unit else None
        atomic_file.replace(self.plain_path, launch.text or "", written_at=written_at)

    def _as_unit(self, plain):
        return dataclasses.replace(plain, path=self._unit_path, mode=UNIT_MODE)


def _packed(files):
    """A tar archive, as text whose surrogates stand for the bytes that are no UTF-8."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.mode, entry.mtime = file.mode, file.written_at
            entry.uid, entry.gid = file.owner
            content = b"" if file.is_link else file.text.encode("utf-8", "surrogateescape")
            entry.size = len(content)
            if file.is_link:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.text
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue().decode("utf-8", "surrogateescape")


def _unpacked(path):
    """The files of an archive; None when there is none."""
    try:
        with tarfile.open(path) as archive:
            return [_file(archive, entry) for entry in archive.getmembers()]
    except FileNotFoundError:
        return None
    except tarfile.TarError as error:
        raise OSError("%s can't be read: %s" % (path, error)) from error


def _file(archive, entry):
    text = entry.linkname if entry.issym() else archive.extractfile(entry).read().decode("utf-8", "surrogateescape")
    return LaunchFile("/" + entry.name, text, entry.mode, (entry.uid, entry.gid), float(entry.mtime), entry.issym())
