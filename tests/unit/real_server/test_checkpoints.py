# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import operator

import pytest
from rig.checkpoints import alphabet, processors, tensors, weights

GREETING = "Hello world"


@pytest.fixture(scope="module")
def target():
    return weights.target()


@pytest.mark.parametrize(
    ("belief", "accept_length"),
    [
        (alphabet.right_about_everything(), 4.0),
        (alphabet.wrong_after_some_letters(), 3.2),
        (alphabet.wrong_about_everything(), 64 / 63),
    ],
)
def test_the_accept_length_of_a_head_is_known(belief, accept_length):
    assert alphabet.greedy_accept_length(belief, GREETING, 64, 3) == accept_length


def test_the_successors_run_in_cycles_and_begin_with_a():
    following = alphabet.successors()
    token = alphabet.token_of
    assert [following[token(letter)] for letter in "az9Z!"] == [token(letter) for letter in "ba0Aa"]


def test_every_byte_has_a_token_of_its_own():
    vocabulary = processors.files()["tokenizer.json"]["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(alphabet.VOCABULARY_SIZE))
    assert set(alphabet.byte_characters()) < set(vocabulary)


def test_the_weights_pick_the_successor_of_a_token(target):
    embedding, head = target["model.language_model.embed_tokens.weight"], target["lm_head.weight"]
    hidden = _row(embedding, alphabet.token_of("q"))
    logits = [sum(map(operator.mul, _row(head, row), hidden)) for row in range(alphabet.VOCABULARY_SIZE)]
    assert logits.index(max(logits)) == alphabet.token_of("r")


def test_a_llama_has_no_tensor_of_the_other_family(target):
    llama = weights.as_llama(target)
    assert not [name for name in llama if "language_model" in name or "q_norm" in name]
    assert llama["model.layers.0.self_attn.q_proj.weight"].shape == (256, 320)
    assert set(llama["model.norm.weight"].values) == {1.0}


def test_a_file_holds_bfloat16_numbers_where_its_header_says(tmp_path):
    file = tmp_path / "model.safetensors"
    tensors.save({"one": tensors.vector(3, 1.0), "two": tensors.matrix(1, 2, [-2.0, 0.5])}, file)
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    assert header["two"] == {"dtype": "BF16", "shape": [1, 2], "data_offsets": [6, 10]}
    assert numbers[:6] == bytes.fromhex("803f803f803f")
    assert numbers[6:] == bytes.fromhex("00c0003f")


def _row(matrix, row):
    width = matrix.shape[1]
    return matrix.values[row * width : (row + 1) * width]
