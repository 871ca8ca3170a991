# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a checkpoint's ``config.json`` says, and which model class SGLang makes of it.

The draft classes are those of 0.5.23 (``configs/model_config.py``, ``_config_draft_model``).
"""

from __future__ import annotations

import dataclasses
import json
import os

DRAFT_CLASSES = {
    "DeepseekV3ForCausalLM": "DeepseekV3ForCausalLMNextN",
    "DeepseekV32ForCausalLM": "DeepseekV3ForCausalLMNextN",
    "DeepseekV4ForCausalLM": "DeepseekV4ForCausalLMNextN",
    "GlmMoeDsaForCausalLM": "GlmMoeDsaForCausalLMNextN",
    "Glm4MoeForCausalLM": "Glm4MoeForCausalLMNextN",
    "Glm4MoeLiteForCausalLM": "Glm4MoeLiteForCausalLMNextN",
    "LongcatFlashForCausalLM": "LongcatFlashForCausalLMNextN",
    "MiMoForCausalLM": "MiMoMTP",
    "MiMoV2FlashForCausalLM": "MiMoV2MTP",
    "Step3p5ForCausalLM": "Step3p5MTP",
    "BailingMoeForCausalLM": "BailingMoeForCausalLMNextN",
    "Ernie4_5_MoeForCausalLM": "Ernie4_5_MoeForCausalLMMTP",
    "Qwen3NextForCausalLM": "Qwen3NextForCausalLMMTP",
    "Qwen3MoeForCausalLM": "Qwen3MoeForCausalLMMTP",
    "Qwen3_5ForConditionalGeneration": "Qwen3_5ForCausalLMMTP",
    "Qwen3_5MoeForConditionalGeneration": "Qwen3_5ForCausalLMMTP",
    "Qwen3_5ForCausalLM": "Qwen3_5ForCausalLMMTP",
    "Qwen3_5MoeForCausalLM": "Qwen3_5ForCausalLMMTP",
    "Qwen4ExpForCausalLM": "Qwen4ExpForCausalLMMTP",
    "ExaoneMoEForCausalLM": "ExaoneMoEForCausalLMMTP",
    "NemotronHForCausalLM": "NemotronHForCausalLMMTP",
}
OWN_DRAFT_CLASSES = (
    "DFlashDraftModel",
    "DSparkDraftModel",
    "Eagle3DeepseekV2ForCausalLM",
    "Gemma4AssistantForCausalLM",
    "Gemma4UnifiedAssistantForCausalLM",
    "IQuestQ1MTP",
    "LlamaForCausalLMEagle",
    "LlamaForCausalLMEagle3",
    "MistralForCausalLMEagle",
    "Qwen2ForCausalLMEagle",
)
PLAIN_CLASSES = (
    "Gemma4ForConditionalGeneration",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3VLForConditionalGeneration",
)
KNOWN_CLASSES = frozenset(DRAFT_CLASSES) | set(DRAFT_CLASSES.values()) | set(OWN_DRAFT_CLASSES) | set(PLAIN_CLASSES)
GEMMA4_DRAFTS = ("Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM")
HYBRID_MAMBA = ("Qwen3_5", "Qwen3Next", "Qwen4Exp", "NemotronH")
DRAFT_IN_TARGET = ("Deepseek", "Glm4Moe", "GlmMoeDsa", "Bailing", "Qwen4Exp")
FIVE_STEPS = ("Llama", "Grok")


class CheckpointMissing(Exception):
    """The folder does not exist; ``path`` is what was asked for."""

    def __init__(self, path: str | None):
        super().__init__(path)
        self.path = path


class ConfigMissing(CheckpointMissing):
    """The folder exists, but holds no ``config.json`` that can be read."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    path: str
    architecture: str
    model_type: str = ""
    context_length: int = 262144

    @property
    def is_hybrid_mamba(self) -> bool:
        return self.architecture.startswith(HYBRID_MAMBA)

    @property
    def carries_draft(self) -> bool:
        """The target's own checkpoint is the draft's; no draft path is needed."""
        return self.architecture.startswith(DRAFT_IN_TARGET)

    @property
    def sees_images(self) -> bool:
        return self.architecture.endswith("ForConditionalGeneration")

    @property
    def draft_class(self) -> str:
        return DRAFT_CLASSES.get(self.architecture, self.architecture)

    @property
    def is_known(self) -> bool:
        return self.architecture in KNOWN_CLASSES


def read_checkpoint(path: str | None) -> Checkpoint:
    """Raises CheckpointMissing, or ConfigMissing if the folder is there without a usable config.json."""
    if path is None or not os.path.isdir(path):
        raise CheckpointMissing(path)
    try:
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        architecture = config["architectures"][0]
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        raise ConfigMissing(path) from None
    length = (config.get("text_config") or config).get("max_position_embeddings", Checkpoint.context_length)
    return Checkpoint(path, architecture, config.get("model_type", ""), length)
