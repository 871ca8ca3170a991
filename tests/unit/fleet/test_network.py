# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress

from fleet.network import addresses


def test_every_node_has_an_address_of_its_own_that_podman_gives_nobody():
    network = ipaddress.IPv4Network("10.89.7.0/24")
    assert addresses(network, ["gpu01", "gpu02"]) == {"gpu01": "10.89.7.11", "gpu02": "10.89.7.12"}
