# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node that runs the server: a container with systemd, journald and sshd that sees the rig's folders, read-only."""

from __future__ import annotations

import subprocess

from rig.cache import CACHE, CHECKOUT, RIG, CachedFolder
from rig.checkpoints import catalogue
from rig.environment import NEWEST, OLDER
from rig.errors import RigError

FLEET = "real-server"
NAME = "gpu01"
SUITE = "bookworm"
NODES = CHECKOUT / "molecule" / "shared" / "nodes"
CHECKPOINTS = CachedFolder("checkpoints", list((RIG / "checkpoints").glob("*.py")), catalogue.write_all)
INVENTORIES = (CHECKOUT / ".build" / "nodes" / FLEET / "inventory.yml", RIG.parent / "inventory.yml")


def up() -> None:
    """Start the node, or keep the one that runs with the same folders; raises RigError when that fails."""
    mounts = {
        NEWEST.folder.ensure(): NEWEST.place,
        OLDER.folder.ensure(): OLDER.place,
        RIG.parent / "shims": "/opt/sglang/shims",
        CHECKPOINTS.ensure(): "/shared/models/alphabet",
    }
    _nodes(
        *("up", "--name", FLEET, "--no-server", "--keep"),
        *(f"--mount={folder}:{target}" for folder, target in mounts.items()),
        f"{NAME}:{SUITE}:{NEWEST.release}",
    )


def down() -> None:
    """Remove the node; what was built stays."""
    _nodes("down", "--name", FLEET)
    print(f"Left behind for the next time: {CACHE} with the server's environment and the checkpoints")


def _nodes(*arguments: str) -> None:
    if subprocess.run([str(NODES), *arguments], stdin=subprocess.DEVNULL, check=False).returncode:
        raise RigError("The node for the real server could not be started or removed; why stands above.")
