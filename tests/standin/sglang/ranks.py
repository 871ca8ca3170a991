# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ranks run on this node: pipeline stages and tensor-parallel ranks, shared out over the nodes.

As SGLang does it (``entrypoints/engine.py``, ``_calculate_rank_ranges``, 0.5.23).
"""

from __future__ import annotations

from collections.abc import Mapping


def world_size(fields: Mapping[str, object]) -> int:
    """How many ranks all nodes have together."""
    return fields["tp_size"] * fields["pp_size"]


def local_tags(fields: Mapping[str, object]) -> list[str]:
    """One log tag per rank of this node, such as `` PP1 TP0``; what there is only one of is not in it."""
    nodes, node = fields["nnodes"], fields["node_rank"]
    stages, ranks = fields["pp_size"], fields["tp_size"]
    nodes_per_stage = max(nodes // stages, 1)
    here = block(max(stages // nodes, 1), node // nodes_per_stage)
    return [
        numbered("PP", stage, stages) + numbered("TP", rank, ranks)
        for stage in here
        for rank in block(ranks // nodes_per_stage, node % nodes_per_stage)
    ]


def block(size: int, number: int) -> range:
    return range(size * number, size * (number + 1))


def numbered(name: str, number: int, size: int) -> str:
    return f" {name}{number}" if size > 1 else ""
