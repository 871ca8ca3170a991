# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One start to judge: all that is known about it."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import draft_model
from ansible_collections.llmops.sglang.plugins.module_utils.expectations import Expectations
from ansible_collections.llmops.sglang.plugins.module_utils.release import Release


@dataclasses.dataclass(frozen=True)
class Case:
    """``facts`` is a :class:`facts.StartFacts`; the rest is as :func:`conditions.judge` takes it."""

    facts: object
    expectations: Expectations
    instance: str
    release: Release
    http_fields: dict
    http_ready: bool
    gap: str

    @property
    def gone(self):
        return self.instance in ("dead", "replaced")

    @property
    def died(self):
        """Whether the start has ended otherwise than by an orderly stop after it had come up."""
        facts = self.facts
        if self.gone or facts.fatal or facts.unit_result:
            return True
        exited_badly = facts.unit_exit and (facts.unit_exit[0].code, facts.unit_exit[0].status[:1]) != ("exited", "0")
        return bool(exited_badly) or bool(facts.unit_exit or facts.unit_ended or facts.stopping) and not facts.ready

    @property
    def ready(self):
        return bool(self.facts.ready or self.http_ready)

    @property
    def is_follower(self):
        """Whether this node of several serves no requests, and so is never said to be ready by its own answers."""
        rank = self.facts.banner.get("node_rank", 0) if self.facts.banner else 0
        return isinstance(rank, int) and rank >= 1

    @property
    def has_come_up(self):
        # What a follower answers over HTTP says nothing of its ranks.
        if self.is_follower:
            return bool(self.facts.ready) or draft_model.pools_follow_drafts(self)
        return self.ready
