# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: one file that decides how a server starts, with its mode, its owner and its age."""

from __future__ import annotations

import dataclasses
import os
import stat
import tempfile

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file


@dataclasses.dataclass(frozen=True)
class LaunchFile:
    """A file as it was read. Two are equal when they differ in nothing but their age.

    ``text`` is its content, or where it leads when it is a symbolic link; ``mode`` its permission bits, ``owner``
    user id and group id, ``written_at`` seconds since the epoch.
    """

    path: str
    text: str
    mode: int
    owner: tuple
    written_at: float = dataclasses.field(compare=False)
    is_link: bool = False


def read(path, follow=False):
    """The file at ``path``; None when there is none, or something that is neither a regular file nor a link.

    :arg follow: read what a symbolic link leads to, under the link's path.
    """
    try:
        status = os.stat(path) if follow else os.lstat(path)
        is_link = stat.S_ISLNK(status.st_mode)
        if not is_link and not stat.S_ISREG(status.st_mode):
            return None
        text = os.readlink(path) if is_link else _content(path)
    except FileNotFoundError:
        return None
    mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
    return LaunchFile(path, text, mode, owner, status.st_mtime, is_link)


def put(file):
    """Bring a :class:`LaunchFile` to its path, with mode, owner and age; its content changes in one step."""
    os.makedirs(os.path.dirname(file.path), exist_ok=True)
    if file.is_link:
        _put_link(file)
    else:
        atomic_file.replace(file.path, file.text, mode=file.mode, written_at=file.written_at)
    status = os.lstat(file.path)
    if (status.st_uid, status.st_gid) != file.owner:
        os.lchown(file.path, *file.owner)


def _put_link(file):
    with tempfile.TemporaryDirectory(prefix=".draft-", dir=os.path.dirname(file.path)) as folder:
        draft = os.path.join(folder, "link")
        os.symlink(file.text, draft)
        os.utime(draft, (file.written_at, file.written_at), follow_symlinks=False)
        os.replace(draft, file.path)


def _content(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as source:
        return source.read()
