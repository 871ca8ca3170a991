# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Corrects certain modules right after they were imported."""

from __future__ import annotations

import importlib.abc
import importlib.util

import gpu_habits
import torch_native_speculation

# Each function gets the module once the module's own code ran.
CORRECTIONS = {
    "torchvision.extension": gpu_habits.name_torchvision_operators,
    "sglang.srt.layers.attention.torch_native_backend": torch_native_speculation.teach_backend,
    "sglang.srt.mem_cache.memory_pool": gpu_habits.allocate_on_cpu,
    "sglang.srt.models.qwen3_5_mtp": gpu_habits.do_not_wait_for_a_gpu,
    "sglang.kernels.ops.mamba.mamba_state_scatter_triton": gpu_habits.scatter_no_states,
    "sglang.srt.speculative.draft_utils": torch_native_speculation.offer_to_drafts,
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules in CORRECTIONS where Python would have found them."""

    def __init__(self):
        self.in_progress = set()

    def find_spec(self, name, path, target=None):
        if name not in CORRECTIONS or name in self.in_progress:
            return None
        self.in_progress.add(name)  # so that the search below does not come back here
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        run_module = spec.loader.exec_module

        def run_then_correct(module):
            run_module(module)
            CORRECTIONS[name](module)

        spec.loader.exec_module = run_then_correct
        return spec
