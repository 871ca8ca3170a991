# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What CUDA graphs are captured for: batch sizes, as seen in 0.5.9 to 0.5.23, and phases, since 0.5.18."""

from __future__ import annotations

LARGEST = 512
PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


def decode_batch_sizes(speculative: bool) -> list[int]:
    large = [*range(272, LARGEST + 1, 16)]
    if speculative:
        return [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8), *large]
    return [1, 2, 4, 8, 12, *range(16, 257, 8), *large]


def set_decode_batch_sizes(fields: dict, speculative: bool) -> None:
    """Put the sizes where this release keeps them, unless the template has neither place."""
    if fields.get("cuda_graph_config"):
        fields["cuda_graph_config"]["decode"]["bs"] = decode_batch_sizes(speculative)
    elif "cuda_graph_bs" in fields:
        fields["cuda_graph_bs"] = decode_batch_sizes(speculative)
