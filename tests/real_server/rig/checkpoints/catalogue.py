# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checkpoints, and what is wrong with each."""

from __future__ import annotations

import json
from pathlib import Path

from rig.checkpoints import configs, processors
from rig.checkpoints.alphabet import right_about_everything, wrong_about_everything, wrong_after_some_letters
from rig.checkpoints.tensors import Tensor, save
from rig.checkpoints.weights import LANGUAGE_MODEL, as_llama, mtp_head, target


def write_all(folder: Path) -> None:
    """Write one folder for each checkpoint."""
    model = target()
    head = mtp_head(right_about_everything())

    # The target of all cases, with a head that belongs to it.
    _write(folder / "good", configs.qwen3_5(), {**model, **head})

    # The head is right most of the time, like a real one.
    _write(folder / "partial", configs.qwen3_5(), {**model, **mtp_head(wrong_after_some_letters())})

    # Names and shapes are right, but the head belongs to another model.
    _write(folder / "foreign", configs.qwen3_5(), {**model, **mtp_head(wrong_about_everything())})

    # A conversion or a quantisation dropped the tensors of the head.
    _write(folder / "dropped", configs.qwen3_5(), model)

    # The tensors are there, under a prefix that the loader does not look for.
    renamed = {LANGUAGE_MODEL + name: tensor for name, tensor in head.items()}
    _write(folder / "renamed", configs.qwen3_5(), {**model, **renamed})

    # A plain model, which has no MTP form. Its drafts are right.
    _write(folder / "llama", configs.llama(), as_llama(model))

    # An architecture that no server has ever heard of.
    _write(folder / "unheard-of", configs.qwen3_5("UnheardOfForCausalLM"), {**model, **head})


def _write(folder: Path, config: dict, weights: dict[str, Tensor]) -> None:
    folder.mkdir(parents=True)
    for name, content in {"config.json": config, **processors.files()}.items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    save(weights, folder / "model.safetensors")
