# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one node gets on top of its image: login, models, the stand-in for SGLang, and a unit without MTP."""

from __future__ import annotations

import hashlib
import io
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from fleet.errors import FleetError
from fleet.image import SUITES
from fleet.node import Node

ROOTFS = Path(__file__).resolve().parent.parent / "rootfs"
UNIT = "etc/systemd/system/sglang.service"
NOT_SOURCE = ("__pycache__", ".pyc")


def files_for(node: Node, standin: Path, public_key: str) -> dict[str, bytes]:
    """The files of a node, by their path relative to the root."""
    files = dict(_tree(ROOTFS, ""))
    files["etc/ssh/authorized_keys"] = public_key.encode()
    site_packages = SUITES[node.suite].site_packages
    files.update(_tree(standin, f"{site_packages}/sglang/"))
    metadata = f"Metadata-Version: 2.1\nName: sglang\nVersion: {node.sglang_version}\n"
    files[f"{site_packages}/sglang-{node.sglang_version}.dist-info/METADATA"] = metadata.encode()
    return files


def digest(files: dict[str, bytes]) -> str:
    """One value that changes when any of the files does."""
    sha = hashlib.sha256()
    for path, content in sorted(files.items()):
        sha.update(f"{path}\0{len(content)}\0".encode() + content)
    return sha.hexdigest()[:16]


def as_tar(files: dict[str, bytes]) -> bytes:
    """The files as an archive in which everything belongs to root, whoever runs this."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mtime = time.time()
            entry.mode = 0o440 if path.startswith("etc/sudoers.d/") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _tree(folder: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        raise FleetError(f"There is no folder {folder}; --standin names the Python package that stands in for sglang.")
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not any(part.endswith(NOT_SOURCE) for part in file.parts):
            yield prefix + file.relative_to(folder).as_posix(), file.read_bytes()
