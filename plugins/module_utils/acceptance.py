# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: how many drafts were right, from what a server says about one request, about itself, or in its metrics."""

from __future__ import annotations

import dataclasses
import re

# Correct and proposed drafts in meta_info of /generate (managers/tokenizer_manager.py), newest names first:
# since 0.5.12, in 0.5.11, in 0.5.6-0.5.10. Before that only the number of verify steps is given.
COUNT_NAMES = (
    ("spec_num_correct_drafts", "spec_num_proposed_drafts"),
    ("spec_accepted_drafts", "spec_proposed_drafts"),
    ("spec_accept_token_num", "spec_draft_token_num"),
)
VERIFY_STEPS = "spec_verify_ct"

_METRIC = re.compile(r"^sglang:(\w+)(?:\{[^}\n]*\})? (\d+(?:\.\d+)?(?:e[+-]?\d+)?)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Acceptance:
    """Counts over requests. ``correct`` and ``proposed`` drafts are ``None`` where a release does not count them."""

    tokens: int
    verify_steps: int
    correct: int | None = None
    proposed: int | None = None

    @property
    def length(self):
        """SGLang's accept length: new tokens for each verify step. The prefill's token counts too, so that it is a
        little above 1 when no draft was right."""
        return self.tokens / self.verify_steps

    @property
    def has_counts(self):
        return bool(self.proposed)


def of_request(meta_info):
    """The :class:`Acceptance` in the ``meta_info`` of one completion; ``None`` where no draft was verified."""
    tokens, steps = _count(meta_info.get("completion_tokens")), _count(meta_info.get(VERIFY_STEPS))
    if not tokens or not steps:
        return None
    for correct_name, proposed_name in COUNT_NAMES:
        correct, proposed = _count(meta_info.get(correct_name)), _count(meta_info.get(proposed_name))
        if correct is not None and proposed:
            return Acceptance(tokens, steps, correct, proposed)
    return Acceptance(tokens, steps)


def total(parts):
    """One :class:`Acceptance` over several; counts of drafts only if all have them. ``None`` for none."""
    parts = [part for part in parts if part]
    if not parts:
        return None
    counted = all(part.has_counts for part in parts)
    return Acceptance(
        sum(part.tokens for part in parts),
        sum(part.verify_steps for part in parts),
        sum(part.correct for part in parts) if counted else None,
        sum(part.proposed for part in parts) if counted else None,
    )


def average_of_server(server_info):
    """The accept length that ``/server_info`` gives for all requests so far; ``None`` when it gives none.

    It is absent until a decode interval (40 steps) is over. 0.4.6 has it at the top, later releases once for each
    data-parallel rank in ``internal_states``.
    """
    states = server_info.get("internal_states")
    places = [server_info] + (states if isinstance(states, list) else [])
    return _mean(place.get("avg_spec_accept_length") for place in places if isinstance(place, dict))


def of_metrics(text):
    """The accept length of the last decode interval in ``/metrics``; ``None`` when there is none.

    Its gauge is 0.0 without speculation too.
    """
    return _mean(float(value) for name, value in _METRIC.findall(text) if name == "spec_accept_length")


def _mean(values):
    lengths = [value for value in values if isinstance(value, (int, float)) and value > 0]
    return sum(lengths) / len(lengths) if lengths else None


def _count(value):
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
