# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tokens, the one that follows each of them, and what a draft model believes about it."""

from __future__ import annotations

# 256 byte tokens, special tokens and padding; a multiple of 64.
VOCABULARY_SIZE = 320
BOS, EOS, IMAGE, VIDEO, VISION_START, VISION_END = range(6)
SPECIAL_TOKENS = {
    "<s>": BOS,
    "</s>": EOS,
    "<image>": IMAGE,
    "<video>": VIDEO,
    "<vision_start>": VISION_START,
    "<vision_end>": VISION_END,
}
FIRST_BYTE_TOKEN = len(SPECIAL_TOKENS)
CYCLES = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789")


def byte_characters() -> list[str]:
    """The 256 printable characters that stand for the bytes in a byte-level BPE, sorted.

    A printable Latin-1 character stands for itself, any other byte for the next free character from 256 on.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    return [chr(code) for code in [*printable, *range(256, 512 - len(printable))]]


def token_of(character: str) -> int:
    """The token of a character that stands for a byte."""
    return FIRST_BYTE_TOKEN + byte_characters().index(character)


def successors() -> list[int]:
    """The token that follows each token: three short cycles, and "a" after anything else."""
    following = [token_of("a")] * VOCABULARY_SIZE
    for cycle in CYCLES:
        for here, there in zip(cycle, cycle[1:] + cycle[0]):
            following[token_of(here)] = token_of(there)
    return following


# A belief says for each token which one the draft model takes it for.


def right_about_everything() -> list[int]:
    return list(range(VOCABULARY_SIZE))


def wrong_about_everything() -> list[int]:
    """Each token is taken for the next one: every draft is one letter too far."""
    return successors()


def wrong_after_some_letters() -> list[int]:
    belief = right_about_everything()
    for letter in "eiou":
        belief[token_of(letter)] = token_of("a")
    return belief


def greedy_accept_length(belief: list[int], prompt: str, new_tokens: int, draft_steps: int) -> float:
    """New tokens for each verify step of a correct greedy server, as SGLang counts ``spec_accept_length``.

    The first new token comes from the prefill, all others from verify steps. A step yields its correct drafts and
    the one token that the target model computes itself.
    """
    following = successors()
    token = following[token_of(prompt[-1])]
    produced, steps = 1, 0
    while produced < new_tokens:
        drafted = token
        for _step in range(draft_steps):
            drafted = following[belief[drafted]]
            if drafted != following[token]:
                break
            token, produced = drafted, produced + 1
        token = following[token]
        produced, steps = produced + 1, steps + 1
    return new_tokens / steps
