# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: the parts of a launch, that is the files beside a unit that decide how its server starts.

They are the unit's own drop-ins (``UNIT.d/*.conf`` in the unit's folder) and the files that it names with SGLang's
``--config`` and systemd's ``EnvironmentFile=``. A symbolic link is a part as a link, without what it leads to.

Left out are ``/etc/environment`` and the drop-ins that a template shares among its instances (``sglang@.service.d``).
A file that another unit names too is a part, since it decides how the server starts, but it is :func:`named_elsewhere`,
and so it is not put back.
"""

from __future__ import annotations

import glob
import os
import re

from ansible_collections.llmops.sglang.plugins.module_utils import launch_file, unit_file

SYSTEM_WIDE = ("/etc/environment",)


def find(unit_path, text):
    """The parts of the unit at ``unit_path`` if its text were ``text``: :class:`launch_file.LaunchFile`, by path."""
    drop_ins = own_drop_ins(unit_path)
    named = unit_file.named_files([text, *[drop_in.text for drop_in in drop_ins]])
    files = [launch_file.read(path) for path in named if path not in SYSTEM_WIDE]
    return tuple(sorted([*drop_ins, *filter(None, files)], key=lambda file: file.path))


def own_drop_ins(unit_path):
    """The drop-ins of this unit alone, in the order in which systemd reads them."""
    paths = sorted(glob.glob(glob.escape(drop_in_folder(unit_path)) + "/*.conf"))
    return [file for file in (launch_file.read(path) for path in paths) if file]


def drop_in_folder(unit_path):
    return unit_path + ".d"


def is_own_drop_in(unit_path, path):
    return os.path.dirname(path) == drop_in_folder(unit_path)


def named_elsewhere(unit_path, path):
    """Whether others than the unit at ``unit_path`` rest on the file ``path`` too, as far as their units tell."""
    folder = glob.escape(os.path.dirname(unit_path))
    units = glob.glob(folder + "/*.service") + glob.glob(folder + "/*.service.d/*.conf")
    others = [other for other in units if not _is_of(unit_path, other)]
    word = re.compile(r"(?<![\w/])%s(?![\w./-])" % re.escape(path))
    return any(word.search(file.text) for file in (launch_file.read(other, follow=True) for other in others) if file)


def _is_of(unit_path, other):
    """Whether ``other`` is the unit itself, another name of it, or one of its drop-ins."""
    return is_own_drop_in(unit_path, other) or os.path.realpath(other) == os.path.realpath(unit_path)
