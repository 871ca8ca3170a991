# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Speculative decoding for SGLang's ``torch_native`` attention backend.

On a CPU without AMX that backend is the only one, and SGLang refuses to draft with it: "EAGLE is not supported in
decode attention backend torch_native". Two things are missing, and both are only a matter of lengths:

* verification: the target model reads a few draft tokens at once, behind what it already has;
* drafting: step i of a draft sees i + 1 tokens more than the batch says.
"""

from __future__ import annotations


class Lengths:
    """Other lengths for a batch, for the time of one attention call."""

    def __init__(self, batch, **lengths):
        self.batch, self.lengths = batch, lengths

    def __enter__(self):
        self.before = {name: getattr(self.batch, name) for name in self.lengths}
        self._set(self.lengths)

    def __exit__(self, *exception):
        self._set(self.before)

    def _set(self, lengths):
        for name, value in lengths.items():
            setattr(self.batch, name, value)


def teach_backend(module):
    """Add verification to the backend, and a backend for each draft step."""
    backend = module.TorchNativeAttnBackend
    extend = backend.forward_extend

    def forward_extend(self, q, k, v, layer, batch, *args, **kwargs):
        if not batch.forward_mode.is_target_verify():
            return extend(self, q, k, v, layer, batch, *args, **kwargs)
        have, drafts = batch.seq_lens, batch.spec_info.draft_token_num
        counts = have.new_full(have.shape, drafts)
        with Lengths(batch, extend_prefix_lens=have, seq_lens=have + drafts, extend_seq_lens=counts):
            return extend(self, q, k, v, layer, batch, *args, **kwargs)

    class DraftStep(backend):
        def __init__(self, runner, step):
            super().__init__(runner)
            self.step = step

        def forward_decode(self, q, k, v, layer, batch, *args, **kwargs):
            with Lengths(batch, seq_lens=batch.seq_lens + self.step + 1):
                return super().forward_decode(q, k, v, layer, batch, *args, **kwargs)

    class DraftSteps:
        """One backend for each draft step but the last, which needs no attention any more."""

        def __init__(self, runner, topk, steps):
            if topk != 1:
                raise NotImplementedError("only --speculative-eagle-topk 1 is supported")
            self.topk, self.speculative_num_steps, self.device = topk, steps, runner.device
            self.attn_backends = [DraftStep(runner, step) for step in range(steps - 1)]

        def init_forward_metadata(self, batch):
            for step in self.attn_backends:
                step.init_forward_metadata(batch)

    backend.forward_extend = forward_extend
    module.TorchNativeDraftSteps = DraftSteps


def offer_to_drafts(module):
    """Enter ``torch_native`` in the list of backends that a draft may use."""
    factory = module.DraftBackendFactory
    create = factory._create_backend

    def create_backend(self, kind, choices, message, *args, **kwargs):
        from sglang.srt.layers.attention import torch_native_backend as native

        def for_draft_steps():
            steps = native.TorchNativeDraftSteps(self.draft_model_runner, self.topk, self.speculative_num_steps)
            return "torch_native", steps

        def for_extending():
            return "torch_native", native.TorchNativeAttnBackend(self.draft_model_runner)

        drafts = "in decode attention backend" in message
        choices = {**choices, "torch_native": for_draft_steps if drafts else for_extending}
        return create(self, kind, choices, message, *args, **kwargs)

    factory._create_backend = create_backend
