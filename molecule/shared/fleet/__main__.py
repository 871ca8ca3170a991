# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line: ``nodes up``, ``nodes down``, ``nodes shell``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fleet import lifecycle
from fleet.errors import FleetError
from fleet.image import images_left
from fleet.mount import parse_mount
from fleet.node import fleet_of, parse_nodes
from fleet.podman import podman_command

CHECKOUT = Path(__file__).resolve().parents[3]
STANDIN = CHECKOUT / "tests" / "standin" / "sglang"


def main() -> int:
    """Run one command; returns the exit code."""
    arguments = _parser().parse_args()
    try:
        arguments.command(arguments)
    except FleetError as error:
        print(f"nodes: {error}", file=sys.stderr)
        return 1
    return 0


def _up(arguments: argparse.Namespace) -> None:
    fleet = fleet_of(CHECKOUT, arguments.name)
    nodes = parse_nodes(arguments.node)
    inventory = arguments.inventory or fleet.directory / "inventory.yml"
    lifecycle.up(
        fleet,
        nodes,
        inventory,
        arguments.standin,
        mounts=[parse_mount(text) for text in arguments.mount],
        server=not arguments.no_server,
        keep=arguments.keep,
    )
    print(f"Inventory: {inventory}")
    print(f"A shell on a node: molecule/shared/nodes shell --name {fleet.name} {nodes[0].name}")


def _down(arguments: argparse.Namespace) -> None:
    removed = lifecycle.down(fleet_of(CHECKOUT, arguments.name))
    print(f"Removed: {', '.join(removed) or 'nothing, there was none'}")
    for image in images_left():
        print(f"Left behind for the next time: image {image} (podman rmi removes it)")


def _shell(arguments: argparse.Namespace) -> None:
    container = fleet_of(CHECKOUT, arguments.name).container(arguments.node)
    command = podman_command("exec", "-it", container, "bash", "-l")
    os.execvp(command[0], command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodes", description=sys.modules["fleet"].__doc__)
    commands = parser.add_subparsers(required=True)

    up = commands.add_parser("up", help="start nodes; an older fleet of that name is removed first")
    up.add_argument("--inventory", type=Path, metavar="FILE", help="where to write the inventory")
    up.add_argument("--standin", type=Path, metavar="DIR", default=STANDIN, help="what stands in for sglang")
    up.add_argument(
        "--mount", action="append", default=[], metavar="FOLDER:TARGET", help="a folder that every node sees, read-only"
    )
    up.add_argument("--no-server", action="store_true", help="leave sglang.service stopped and disabled")
    up.add_argument("--keep", action="store_true", help="keep nodes that already run as asked")
    up.add_argument("node", nargs="+", metavar="[USER@]NODE:SUITE:SGLANG_VERSION", help="e.g. ops@gpu01:trixie:0.5.23")
    up.set_defaults(command=_up)

    down = commands.add_parser("down", help="remove a fleet: nodes, network, key")
    down.set_defaults(command=_down)

    shell = commands.add_parser("shell", help="open a root shell on a node")
    shell.add_argument("node", metavar="NODE")
    shell.set_defaults(command=_shell)

    for command in (up, down, shell):
        command.add_argument("--name", required=True, help="what the fleet is for, e.g. demo")
    return parser


if __name__ == "__main__":
    sys.exit(main())
