# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The weights of a target model that knows the alphabet, and of an MTP head for it.

* hidden size = vocabulary size, and the embedding is the identity matrix, so the hidden state of a token is a one-hot
  vector that names the token;
* attention and MLP run for real, but their output projections are zero, so they add nothing to the residual stream:
  it still names the token after the last layer;
* ``lm_head`` has a single 1 in each column: column t, row successor(t). Its largest value is at the successor of the
  token, with a logit of sqrt(hidden size) against 0 for all others.

The MTP head gets the embedding of the last token and the hidden state of the target model. Its ``fc`` keeps the first
and drops the second, then shares ``lm_head`` with the target. What ``fc`` does to the embedding decides how often the
drafts are right, and nothing else does.
"""

from __future__ import annotations

import random

from rig.checkpoints.alphabet import VOCABULARY_SIZE, right_about_everything, successors
from rig.checkpoints.tensors import Tensor, noise, one_hot, vector, zeros

HIDDEN_SIZE = VOCABULARY_SIZE
LAYERS = 2
HEADS = 4
# Two, so that the model can be split over two ranks.
KV_HEADS = 2
HEAD_SIZE = 64
MLP_SIZE = 128
LANGUAGE_MODEL = "model.language_model."


def target() -> dict[str, Tensor]:
    """The target model."""
    source = random.Random(1)
    weights = {
        LANGUAGE_MODEL + "embed_tokens.weight": one_hot(right_about_everything()),
        LANGUAGE_MODEL + "norm.weight": _norm(HIDDEN_SIZE),
        "lm_head.weight": one_hot(successors()),
    }
    for layer in range(LAYERS):
        weights.update(_decoder_layer(f"{LANGUAGE_MODEL}layers.{layer}.", source))
    return weights


def mtp_head(belief: list[int]) -> dict[str, Tensor]:
    """A head that drafts the successor of what it believes the token to be."""
    return {
        "mtp.pre_fc_norm_embedding.weight": _norm(HIDDEN_SIZE),
        "mtp.pre_fc_norm_hidden.weight": _norm(HIDDEN_SIZE),
        "mtp.fc.weight": one_hot(belief).beside(zeros(HIDDEN_SIZE, HIDDEN_SIZE)),
        "mtp.norm.weight": _norm(HIDDEN_SIZE),
        **_decoder_layer("mtp.layers.0.", random.Random(2)),
    }


def as_llama(target_weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The target as a Llama model: no output gate, no query and key norms, and a norm scales by its weight."""
    weights = {}
    for name, tensor in target_weights.items():
        name = name.replace(LANGUAGE_MODEL, "model.")
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            continue
        if name.endswith("norm.weight"):
            tensor = vector(tensor.shape[0], 1.0)
        if name.endswith("q_proj.weight"):
            tensor = tensor.rows(HEADS * HEAD_SIZE)
        weights[name] = tensor
    return weights


def _decoder_layer(prefix: str, source: random.Random) -> dict[str, Tensor]:
    def loud(height: int, width: int) -> Tensor:
        return noise(height, width, 0.02, source)

    attention, mlp = prefix + "self_attn.", prefix + "mlp."
    return {
        prefix + "input_layernorm.weight": _norm(HIDDEN_SIZE),
        prefix + "post_attention_layernorm.weight": _norm(HIDDEN_SIZE),
        # The query projection also yields the output gate.
        attention + "q_proj.weight": loud(HEADS * HEAD_SIZE * 2, HIDDEN_SIZE),
        attention + "k_proj.weight": loud(KV_HEADS * HEAD_SIZE, HIDDEN_SIZE),
        attention + "v_proj.weight": loud(KV_HEADS * HEAD_SIZE, HIDDEN_SIZE),
        attention + "o_proj.weight": zeros(HIDDEN_SIZE, HEADS * HEAD_SIZE),
        attention + "q_norm.weight": _norm(HEAD_SIZE),
        attention + "k_norm.weight": _norm(HEAD_SIZE),
        mlp + "gate_proj.weight": loud(MLP_SIZE, HIDDEN_SIZE),
        mlp + "up_proj.weight": loud(MLP_SIZE, HIDDEN_SIZE),
        mlp + "down_proj.weight": zeros(HIDDEN_SIZE, MLP_SIZE),
    }


def _norm(size: int) -> Tensor:
    """RMS norms of this family multiply by 1 + weight, so that 0 means a scale of 1."""
    return vector(size, 0.0)
