# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the model answers: words drawn from the prompt alone, so that greedy output is always the same.

Speculation changes how many words a step yields, never which words.
"""

from __future__ import annotations

import hashlib
import random
import re

WORDS = re.findall(
    r"\w+",
    """
    a above after all an and answer are as at be before between by can city cold could day deep each early end
    every far few field first for from good green has have high hill house in into is it its large late light
    line long many more most near new night no north of often old on one only open or other out over part people
    place quiet rain river road same sea see small some south stone stood summer that the their then there they
    this through time to town tree two under up very was water way we west were where which while white wide wind
    winter with word work world year
    """,
)
GARBAGE = ("!", "!!", "((", "0", "00", "<|", "@@", "\\u", "]]", "~~")
LONGEST_ANSWER = 512
TOKEN_IDS = {word: 1000 + place for place, word in enumerate([*WORDS, *GARBAGE])}


def tokens_of(text: str) -> list[str]:
    """A prompt's tokens: words and marks."""
    return re.findall(r"\w+|[^\w\s]", text) or [""]


def answer(prompt: str, length: int, salt: str = "", garbage: bool = False) -> list[str]:
    """At most ``length`` words. ``salt`` stands for sampling: another salt, another answer."""
    seed = hashlib.sha256(f"{prompt}\0{salt}".encode()).digest()
    draw = random.Random(int.from_bytes(seed, "big"))
    vocabulary = GARBAGE if garbage else WORDS
    return [vocabulary[draw.randrange(len(vocabulary))] for _position in range(min(length, LONGEST_ANSWER))]


def token_ids(words: list[str]) -> list[int]:
    return [TOKEN_IDS[word] for word in words]


def text_of(words: list[str]) -> str:
    return "".join(" " + word for word in words)
