# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of one node, and how nodes of different checkouts are told apart."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path

from fleet.errors import FleetError
from fleet.image import SUITES

NODE_TEXT = re.compile(r"(?:(?P<user>[a-z]+)@)?(?P<name>[a-z][a-z0-9-]*):(?P<suite>[a-z]+):(?P<sglang>[0-9][0-9a-z.]*)")
USERS = ("root", "ops")


@dataclasses.dataclass(frozen=True)
class Node:
    """One node: its host name, Debian suite, the release of SGLang it shows, and the user Ansible logs in as."""

    name: str
    suite: str
    sglang_version: str
    user: str = "root"


def parse_node(text: str) -> Node:
    """Read ``[USER@]NAME:SUITE:SGLANG_VERSION``; raises FleetError that names what is wrong."""
    match = NODE_TEXT.fullmatch(text)
    if match is None:
        raise FleetError(f"'{text}' is not a node; write [USER@]NAME:SUITE:SGLANG_VERSION, e.g. gpu01:bookworm:0.5.12.")
    if match["suite"] not in SUITES:
        raise FleetError(f"'{text}' asks for Debian '{match['suite']}'; there are {' and '.join(SUITES)}.")
    if match["user"] not in (None, *USERS):
        raise FleetError(f"'{text}' asks for the user '{match['user']}'; there are {' and '.join(USERS)}.")
    return Node(match["name"], match["suite"], match["sglang"], match["user"] or "root")


def parse_nodes(texts: list[str]) -> list[Node]:
    """Read several nodes; a name may be given once only."""
    nodes = [parse_node(text) for text in texts]
    names = [node.name for node in nodes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FleetError(f"The node '{twice[0]}' is asked for twice; give each node its own name.")
    return nodes


@dataclasses.dataclass(frozen=True)
class Fleet:
    """All nodes of one purpose (``demo``, ``molecule-default``) in one checkout of this repository."""

    checkout: Path
    name: str

    @property
    def label(self) -> str:
        """What the names of this fleet's containers and network begin with: no other checkout has the same."""
        digest = hashlib.sha256(str(self.checkout).encode()).hexdigest()[:8]
        return f"llmops-sglang-{digest}-{self.name}"

    @property
    def directory(self) -> Path:
        """Where the key, the known hosts and the inventory of this fleet lie."""
        return self.checkout / ".build" / "nodes" / self.name

    def container(self, node: Node | str) -> str:
        """The name of a node's container."""
        return f"{self.label}-{node if isinstance(node, str) else node.name}"


def fleet_of(checkout: Path, name: str) -> Fleet:
    """A fleet by its name; raises FleetError for a name that a container can't carry."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise FleetError(f"--name '{name}' must be lower-case letters, digits and dashes, e.g. --name demo.")
    return Fleet(checkout.resolve(), name)
