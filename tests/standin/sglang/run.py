# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One start of the server: what was resolved, for whom it logs, and how long it takes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from sglang.checkpoints import Checkpoint
from sglang.console import Console
from sglang.group import Group
from sglang.memory import MemoryPlan
from sglang.ranks import local_tags
from sglang.releases import Release
from sglang.settings import Settings


@dataclasses.dataclass
class Run:
    """``draft_wanted``: the flags ask for a draft model; ``plan`` is None until the weights are loaded, ``group`` is
    empty until the nodes have met.
    """

    release: Release
    fields: dict
    settings: Settings
    environ: Mapping[str, str]
    argv: list[str]
    console: Console
    target: Checkpoint
    draft_wanted: bool
    plan: MemoryPlan | None = None
    group: Group = dataclasses.field(default_factory=Group)
    started: float = dataclasses.field(default_factory=time.time)
    loaded: float = 0.0

    @property
    def faults(self):
        return self.settings.faults

    @property
    def loads_draft(self) -> bool:
        return self.draft_wanted and "draft-not-loaded" not in self.faults

    @property
    def tags(self) -> list[str]:
        return local_tags(self.fields)

    @property
    def is_follower(self) -> bool:
        return self.fields["node_rank"] >= 1

    @property
    def on_cpu(self) -> bool:
        return self.fields["device"] == "cpu"

    @property
    def captures_graphs(self) -> bool:
        return not self.on_cpu and not self.fields.get("disable_cuda_graph")

    @property
    def scheme(self) -> str:
        return "https" if self.fields.get("ssl_certfile") else "http"

    @property
    def url(self) -> str:
        """Where the server finds itself: the loopback address when it listens on all."""
        host = self.fields["host"]
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
        return f"{self.scheme}://{host}:{self.fields['port']}"

    @property
    def max_running_requests(self) -> int:
        return self.fields["max_running_requests"] or 2048

    @property
    def context_length(self) -> int:
        return self.fields["context_length"] or self.target.context_length

    def pause(self, share: float) -> None:
        """Wait for this share of the time that a load takes."""
        time.sleep(self.settings.load_seconds * share)
