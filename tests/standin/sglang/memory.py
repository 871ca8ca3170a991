# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPU memory of one rank as SGLang divides it: weights, KV cache, the rest. Pure; everything in GB."""

from __future__ import annotations

import dataclasses

FREE_AT_START_GB = 93.89
KV_BYTES_PER_TOKEN = 24 * 1024
DRAFT_KV_BYTES_PER_TOKEN = 2 * 1024
GRAPHS_GB = 1.12


class NoRoomForCache(Exception):
    """The weights leave nothing for the KV cache; ``minimum`` is the smallest fraction that would do."""

    def __init__(self, minimum: float):
        super().__init__(minimum)
        self.minimum = minimum


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    target_gb: float
    draft_gb: float
    tokens: int
    after_target_gb: float
    after_draft_gb: float

    @property
    def target_pool_gb(self) -> float:
        return self.tokens * KV_BYTES_PER_TOKEN / 2**30

    @property
    def draft_pool_gb(self) -> float:
        return self.tokens * DRAFT_KV_BYTES_PER_TOKEN / 2**30 if self.draft_gb else 0.0

    @property
    def after_pools_gb(self) -> float:
        return self.after_draft_gb - self.target_pool_gb - self.draft_pool_gb

    @property
    def available_gb(self) -> float:
        return self.after_pools_gb - GRAPHS_GB


def plan_memory(
    fraction: float, target_gb: float, draft_gb: float, draft_counts: bool, max_total_tokens: int | None = None
) -> MemoryPlan:
    """``draft_gb`` is 0 without a draft model; ``draft_counts``: it is loaded before the cache is sized."""
    after_target = FREE_AT_START_GB - target_gb
    after_draft = after_target - draft_gb
    left = (after_draft if draft_counts else after_target) - FREE_AT_START_GB * (1 - fraction)
    if left <= 0:
        raise NoRoomForCache(1 - (after_draft if draft_counts else after_target) / FREE_AT_START_GB)
    bytes_per_token = KV_BYTES_PER_TOKEN + (DRAFT_KV_BYTES_PER_TOKEN if draft_gb else 0)
    tokens = int(left * 2**30 // bytes_per_token)
    tokens = min(tokens, max_total_tokens) if max_total_tokens else tokens
    return MemoryPlan(target_gb, draft_gb, tokens, after_target, after_draft)
