# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fleet's own network: podman picks a free range, every node gets an address that survives its restart."""

from __future__ import annotations

import ipaddress
import json

from fleet.podman import podman

FIRST_NODE = 11


def create(name: str) -> ipaddress.IPv4Network:
    """Create a network and return the range that podman found free on this machine."""
    # Names are in every node's /etc/hosts; a name server would want port 53, which is often taken.
    podman("network", "create", "--disable-dns", name)
    (description,) = json.loads(podman("network", "inspect", name))
    return ipaddress.IPv4Network(description["subnets"][0]["subnet"])


def addresses(network: ipaddress.IPv4Network, names: list[str]) -> dict[str, str]:
    """One address for each name."""
    return {name: str(network[FIRST_NODE + number]) for number, name in enumerate(names)}
