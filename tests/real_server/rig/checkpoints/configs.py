# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``config.json`` says about the two architectures."""

from __future__ import annotations

from rig.checkpoints.alphabet import BOS, EOS, IMAGE, VIDEO, VISION_END, VISION_START, VOCABULARY_SIZE
from rig.checkpoints.weights import HEAD_SIZE, HEADS, HIDDEN_SIZE, KV_HEADS, LAYERS, MLP_SIZE

CONTEXT_LENGTH = 2048
_SIZES = {
    "vocab_size": VOCABULARY_SIZE,
    "hidden_size": HIDDEN_SIZE,
    "intermediate_size": MLP_SIZE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_SIZE,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": CONTEXT_LENGTH,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "dtype": "bfloat16",
    "attention_bias": False,
}


def llama() -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **_SIZES,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
    }


def qwen3_5(architecture: str = "Qwen3_5ForConditionalGeneration") -> dict:
    return {
        "architectures": [architecture],
        "model_type": "qwen3_5",
        "dtype": "bfloat16",
        "tie_word_embeddings": False,
        "image_token_id": IMAGE,
        "video_token_id": VIDEO,
        "vision_start_token_id": VISION_START,
        "vision_end_token_id": VISION_END,
        "text_config": _qwen3_5_text(),
        "vision_config": _vision(),
    }


def _qwen3_5_text() -> dict:
    return {
        "model_type": "qwen3_5_text",
        **_SIZES,
        "mtp_num_hidden_layers": 1,
        "attn_output_gate": True,
        # Every layer uses full attention: the linear-attention layers of the real model need GPU kernels. Their sizes
        # have to be there all the same.
        "full_attention_interval": 1,
        "layer_types": ["full_attention"] * LAYERS,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_value_head_dim": 32,
        "mamba_ssm_dtype": "float32",
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            # Their sum is half of the head size times partial_rotary_factor.
            "mrope_section": [3, 3, 2],
        },
    }


def _vision() -> dict:
    """A vision tower of one block. Its weights are not in the checkpoint: text never uses it."""
    return {
        "model_type": "qwen3_5",
        "depth": 1,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "out_hidden_size": HIDDEN_SIZE,
        "in_channels": 3,
        "patch_size": 16,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
        "num_position_embeddings": 256,
        "hidden_act": "gelu_pytorch_tanh",
        "deepstack_visual_indexes": [],
    }
