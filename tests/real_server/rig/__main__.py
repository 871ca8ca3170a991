# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line: ``build`` the environments and the checkpoints, ``up`` and ``down`` for the node, ``evidence``."""

from __future__ import annotations

import sys

from rig import evidence, node
from rig.environment import NEWEST, OLDER
from rig.errors import RigError


def build() -> None:
    for environment in (NEWEST, OLDER):
        print(f"SGLang {environment.release}: {environment.folder.ensure()}")
    print(f"Checkpoints: {node.CHECKPOINTS.ensure()}")


COMMANDS = {"build": build, "up": node.up, "down": node.down, "evidence": evidence.show}


def main() -> int:
    """Run one command; returns the exit code."""
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: python -m rig {{{','.join(COMMANDS)}}}", file=sys.stderr)
        return 2
    try:
        COMMANDS[sys.argv[1]]()
    except RigError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
