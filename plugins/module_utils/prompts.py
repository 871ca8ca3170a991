# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The prompts of the generation proof: natural language, since drafts for random tokens are never right."""

from __future__ import annotations

import dataclasses

_WELL = (
    "The old well stands at the edge of the village. Every morning the baker draws two buckets of water from it, "
    "and every evening the children sit on its wall and tell each other what they have seen during the day."
)

# About 300 words: it must fit into a context of 2048 tokens even where every byte is a token.
_HARBOUR = (
    "The harbour wakes before the town does. At four o'clock the first boats come in, and the men throw the ropes to "
    "the boys who wait on the wall. The fish lie in flat boxes of wood, and the buyers walk along the boxes with their "
    "hands behind their backs. Nobody shouts. A nod is enough, and a small piece of chalk makes the mark. By five "
    "o'clock the boxes are gone and the stones are washed with sea water. Then the coffee house opens its door. The "
    "woman who owns it has seen three generations of fishermen, and she knows who takes sugar and who does not. She "
    "keeps a book in which she writes the weather of each day, the names of the boats that went out, and the hour at "
    "which each of them came back. When somebody asks her why she does this, she says that the sea has a good memory "
    "and that a town should have one too. Last winter a young man from the city came to read the book. He stayed for "
    "two weeks, sat at the table beside the window, and copied page after page. On the last day he told her that the "
    "wind had turned a little further to the north in every year since the book was begun. She was not surprised. She "
    "filled his cup once more, and said that the boats had known it all along."
)


@dataclasses.dataclass(frozen=True)
class Prompt:
    """``settled`` marks a prompt that leaves a model hardly a choice, so that its answer can be compared."""

    name: str
    text: str
    settled: bool


COPY = Prompt("copy", f"A text:\n{_WELL}\n\nThe same text once more, word for word:\n", True)

OTHERS = (
    Prompt("long copy", f"A report:\n{_HARBOUR}\n\nThe same report once more, word for word:\n", True),
    Prompt("rain", "Where does the rain come from? A teacher explains it to her class in plain words:\n", False),
    Prompt("numbers", "Numbers in order, written as words: one, two, three, four, five, six, seven,", True),
    Prompt("bread", "How to bake a simple bread at home, step by step.\n\nStep 1:", False),
    Prompt(
        "months",
        "The months in order: January, February, March, April, May, June, July, August, September, October, November, "
        "December. The months in order once more: January, February,",
        True,
    ),
    Prompt("letter", "Dear grandmother,\n\nthank you very much for the letter that you sent me last week.", False),
)


def plan(requests):
    """The prompts of ``requests`` requests, as rounds: those of one round are sent at the same time.

    The first prompt is sent alone, and alone once more at the end, when the server has it in its prefix cache.
    """
    between = [OTHERS[number % len(OTHERS)] for number in range(requests - 2)]
    return [round_ for round_ in ([COPY], between, [COPY]) if round_]
