# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ranks each node of a group runs, by the arguments that all nodes have in common."""

from __future__ import annotations

import pytest
from sglang.ranks import local_tags, world_size


def tags_of_nodes(tp_size: int, pp_size: int, nodes: int) -> list[list[str]]:
    fields = {"tp_size": tp_size, "pp_size": pp_size, "nnodes": nodes}
    return [local_tags({**fields, "node_rank": node}) for node in range(nodes)]


@pytest.mark.parametrize(
    "tp_size, pp_size, tags",
    [
        (1, 1, [[""]]),
        (2, 1, [[" TP0", " TP1"]]),
        (4, 1, [[" TP0", " TP1"], [" TP2", " TP3"]]),
        (4, 1, [[" TP0"], [" TP1"], [" TP2"], [" TP3"]]),
        (1, 2, [[" PP0", " PP1"]]),
        (1, 2, [[" PP0"], [" PP1"]]),
        (2, 2, [[" PP0 TP0", " PP0 TP1"], [" PP1 TP0", " PP1 TP1"]]),
        (2, 2, [[" PP0 TP0"], [" PP0 TP1"], [" PP1 TP0"], [" PP1 TP1"]]),
    ],
)
def test_the_ranks_of_each_node(tp_size, pp_size, tags):
    assert tags_of_nodes(tp_size, pp_size, len(tags)) == tags


def test_the_ranks_of_all_nodes():
    assert world_size({"tp_size": 4, "pp_size": 2}) == 8
