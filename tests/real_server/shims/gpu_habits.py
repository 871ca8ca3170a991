# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Corrections of modules that take a GPU for granted, whatever the server's device is."""

from __future__ import annotations


def name_torchvision_operators(_extension):
    """Declare two operators that torchvision describes at import.

    The registry's torchvision is built for CUDA, so its compiled part does not load beside a CPU-only torch. Nothing
    here calls the operators; only their names must exist.
    """
    import torch

    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define(f"torchvision::{name}", schema)


def allocate_on_cpu(memory_pool):
    """Give it a torch without "cuda": 0.5.18 puts the state of draft tokens there, whatever its device is."""
    import torch

    class TorchOnCpu:
        def __getattr__(self, name):
            return getattr(torch, name)

        def zeros(self, *args, device=None, **kwargs):
            return torch.zeros(*args, device="cpu" if device == "cuda" else device, **kwargs)

    memory_pool.torch = TorchOnCpu()


def do_not_wait_for_a_gpu(mtp_model):
    """0.5.18 waits for a GPU when it shares the target's head, whatever its device is."""
    mtp_model.torch.cuda.synchronize = lambda device=None: None


def scatter_no_states(scatter):
    """0.5.18 starts a GPU kernel to move the states of linear-attention layers, although there are none here."""
    scatter.scatter_mamba_states_after_mtp_verify = lambda *args, **kwargs: None
