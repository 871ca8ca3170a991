# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.errors import FleetError
from fleet.node import Fleet, Node, fleet_of, parse_node, parse_nodes


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("gpu01:bookworm:0.5.12", Node("gpu01", "bookworm", "0.5.12", "root")),
        ("ops@gpu-2:trixie:0.5.23.post1", Node("gpu-2", "trixie", "0.5.23.post1", "ops")),
    ],
)
def test_a_node_is_read(text, node):
    assert parse_node(text) == node


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu01", r"'gpu01' is not a node; write \[USER@\]NAME:SUITE:SGLANG_VERSION"),
        ("gpu01:trixie:0.5.23; reboot", "is not a node"),
        ("gpu01:sid:0.5.23", "Debian 'sid'; there are bookworm and trixie"),
        ("admin@gpu01:trixie:0.5.23", "the user 'admin'; there are root and ops"),
    ],
)
def test_a_wrong_node_is_one_clear_sentence(text, words):
    with pytest.raises(FleetError, match=words):
        parse_node(text)


def test_two_nodes_of_one_name_are_refused():
    with pytest.raises(FleetError, match="'gpu01' is asked for twice"):
        parse_nodes(["gpu01:trixie:0.5.23", "gpu02:trixie:0.5.23", "gpu01:bookworm:0.5.12"])


def test_two_checkouts_share_no_name(tmp_path):
    fleets = [Fleet(tmp_path / checkout, "demo") for checkout in ("one", "two")]
    assert fleets[0].label != fleets[1].label
    assert fleets[0].container("gpu01") != fleets[1].container("gpu01")


def test_a_checkout_keeps_its_names_however_it_is_reached(tmp_path):
    (tmp_path / "checkout").mkdir()
    (tmp_path / "link").symlink_to("checkout")
    assert fleet_of(tmp_path / "link", "demo") == fleet_of(tmp_path / "checkout", "demo")


def test_a_fleet_name_that_no_container_can_carry_is_refused():
    with pytest.raises(FleetError, match="--name 'My Demo' must be lower-case"):
        fleet_of(Path("/"), "My Demo")
