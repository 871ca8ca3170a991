# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many drafts a verify step accepts, and what the counts of many steps say. Pure."""

from __future__ import annotations

import dataclasses

from sglang.releases import Release


class Drafts:
    """The correct drafts of one request's verify steps, spread so that they average ``accept_length`` - 1."""

    def __init__(self, accept_length: float, drafts_per_step: int):
        self._wanted = min(max(accept_length - 1, 0.0), drafts_per_step)
        self._limit = drafts_per_step
        self._owed = 0.0

    def correct(self) -> int:
        self._owed += self._wanted
        correct = min(int(self._owed + 1e-9), self._limit)
        self._owed -= correct
        return correct


@dataclasses.dataclass
class Counts:
    """Verify steps and their drafts; ``draft_tokens`` is speculative_num_draft_tokens."""

    draft_tokens: int
    verifies: int = 0
    correct: int = 0
    histogram: list[int] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.histogram = self.histogram or [0] * self.draft_tokens

    def add(self, correct: int) -> None:
        self.verifies += 1
        self.correct += correct
        self.histogram[correct] += 1

    @property
    def proposed(self) -> int:
        return self.verifies * (self.draft_tokens - 1)

    @property
    def accept_length(self) -> float:
        """Tokens per verify step, the bonus token included: 1.0 means that no draft was right."""
        return 1 + self.correct / self.verifies if self.verifies else 0.0

    def accept_rate(self, release: Release) -> float:
        if not self.verifies:
            return 0.0
        if release.accept_rate_counts_drafts:
            return self.correct / self.proposed
        return self.accept_length / self.draft_tokens


def meta_info(counts: Counts, tokens: int, release: Release) -> dict:
    """The ``spec_*`` keys of one answer; ``tokens`` counts the prefill's token, and so does the length."""
    if not counts.verifies:
        return {}
    meta = {
        # Unlike the log line's and the metric's, this rate counts drafts in every release.
        "spec_accept_rate": counts.correct / counts.proposed,
        "spec_accept_length": tokens / counts.verifies,
        "spec_verify_ct": counts.verifies,
    }
    if release.names_correct_drafts:
        meta["spec_num_correct_drafts"] = counts.correct
        meta["spec_num_proposed_drafts"] = counts.proposed
        meta["spec_correct_drafts_histogram"] = counts.histogram
    if release.names_accepted_drafts:
        meta["spec_accepted_drafts"] = counts.correct
        meta["spec_proposed_drafts"] = counts.proposed
    if not release.names_correct_drafts or release.names_accepted_drafts:
        meta["spec_accept_histogram"] = counts.histogram
    if not release.accept_rate_counts_drafts:
        meta["spec_accept_token_num"] = counts.correct
        meta["spec_draft_token_num"] = counts.proposed
    return meta
