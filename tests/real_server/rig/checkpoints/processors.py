# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tokenizer and the image processors, as the files beside a checkpoint describe them."""

from __future__ import annotations

from rig.checkpoints.alphabet import FIRST_BYTE_TOKEN, SPECIAL_TOKENS, VOCABULARY_SIZE, byte_characters
from rig.checkpoints.configs import CONTEXT_LENGTH


def files() -> dict[str, dict]:
    """What the server reads at its start, by file name. It builds the image processor even if no image ever comes."""
    return {
        "tokenizer.json": _tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "model_max_length": CONTEXT_LENGTH,
            "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        },
        "preprocessor_config.json": {"image_processor_type": "Qwen2VLImageProcessorFast", **_images()},
        "video_preprocessor_config.json": {"video_processor_type": "Qwen3VLVideoProcessor", **_images()},
    }


def _tokenizer() -> dict:
    """One token per byte: the tokens of an English text are its characters."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": name, **special} for name, number in SPECIAL_TOKENS.items()],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": _vocabulary(),
            "merges": [],
        },
    }


def _vocabulary() -> dict[str, int]:
    vocabulary = dict(SPECIAL_TOKENS)
    for number, character in enumerate(byte_characters(), FIRST_BYTE_TOKEN):
        vocabulary[character] = number
    for number in range(len(vocabulary), VOCABULARY_SIZE):
        vocabulary[f"<unused{number}>"] = number
    return vocabulary


def _images() -> dict:
    return {
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
        "size": {"shortest_edge": 4096, "longest_edge": 65536},
    }
