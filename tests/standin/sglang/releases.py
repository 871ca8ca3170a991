# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each SGLang release does differently. No other file of the stand-in knows a version number.

The facts were read from the released wheels and from real runs; where only two releases were seen and the
change lies between them, the later one is named.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "templates")
NEWEST_KNOWN = "0.5.23"


class Release:
    def __init__(self, text: str):
        match = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
        if not match:
            raise ValueError(f"{text!r} is no SGLang version such as {NEWEST_KNOWN}")
        self.text = text
        self.number = tuple(int(part) for part in match.groups())
        self.template = nearest_template(self)

    def since(self, patch: int) -> bool:
        """True from 0.5.``patch`` on."""
        return self.number >= (0, 5, patch)

    # the log

    @property
    def banner_is_dict(self) -> bool:
        return self.since(19)

    @property
    def stamps_early_warnings(self) -> bool:
        """Before, warnings of the argument resolution are bare text and its INFO lines are lost."""
        return self.since(11)

    @property
    def recommends_sglang_serve(self) -> bool:
        return self.since(12)

    @property
    def redacts_watermarks(self) -> bool:
        return self.since(22)

    @property
    def prints_weight_dtype(self) -> bool:
        return not self.since(10)

    @property
    def loads_draft_before_pools(self) -> bool:
        return self.since(16)

    @property
    def prints_kv_dtype(self) -> bool:
        return self.since(16)

    @property
    def calls_init_parallel(self) -> bool:
        return self.since(20)

    @property
    def prints_startup_timings(self) -> bool:
        return self.since(18)

    @property
    def says_kill_process_tree(self) -> bool:
        return self.since(13)

    @property
    def calls_graphs_by_device(self) -> bool:
        """``cpu graph: False`` on a CPU, where older releases say ``cuda graph: False``."""
        return self.since(18)

    @property
    def names_memory_fraction_in_error(self) -> bool:
        return self.since(11)

    @property
    def allreduce_fusion_note(self) -> str | None:
        if self.since(20):
            return "Auto-enabling FlashInfer AllReduce Fusion (auto) for %s"
        return "Auto-enabling FlashInfer AllReduce Fusion on SM90/SM10X for %s" if self.since(14) else None

    @property
    def followers_wait_for_node_0(self) -> bool:
        """SIGTERM ends no other node than node 0, which then ends them all."""
        return self.since(23)

    # speculation

    @property
    def algorithms(self) -> tuple[str, ...]:
        names = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM")
        names += ("DFLASH",) if self.since(11) else ()
        names += ("FROZEN_KV_MTP",) if self.since(12) else ()
        names += ("DSPARK",) if self.since(16) else ()
        return names + (("UNO",) if self.since(20) else ())

    @property
    def pipeline_with_speculation(self) -> str:
        """Why it is refused."""
        if self.since(23):
            return "PP + speculative decoding (MTP) is only supported on prefill nodes (disaggregation-mode=prefill)"
        return "Pipeline parallelism is not compatible with overlap schedule, speculative decoding"

    @property
    def argparse_checks_algorithm(self) -> bool:
        return not self.since(12)

    @property
    def opens_draft_config_early(self) -> bool:
        """A missing draft folder ends the start before the banner instead of in the scheduler."""
        return self.since(12)

    @property
    def spec_v2_switch(self) -> str | None:
        """What SGLANG_ENABLE_SPEC_V2 counts as when it is unset; None: the switch is gone."""
        if self.since(14):
            return None
        return "true" if self.since(11) else "false"

    @property
    def spec_v2_switch_is_mourned(self) -> bool:
        return self.since(14) and not self.since(21)

    @property
    def has_spec_v1(self) -> bool:
        return not self.since(13)

    @property
    def spec_v1_takes_topk(self) -> bool:
        """A topk above 1 falls back to V1; before, it is refused while V2 is on."""
        return self.since(11)

    @property
    def overlap_needs_gpu(self) -> bool:
        return self.since(17)

    # mamba

    @property
    def mamba_field(self) -> str:
        return "mamba_radix_cache_strategy" if self.since(14) else "mamba_scheduler_strategy"

    @property
    def mamba_strategies(self) -> tuple[str, ...]:
        strategies = ("auto", "no_buffer", "extra_buffer")
        return strategies + (("extra_buffer_lazy",) if self.since(14) else ())

    @property
    def accepts_old_mamba_flag(self) -> bool:
        return self.since(14) and not self.since(20)

    @property
    def resolves_mamba_by_itself(self) -> bool:
        return self.since(14)

    @property
    def refuses_no_buffer_with_speculation(self) -> bool:
        """Before, the radix cache is switched off instead; since 0.5.14 the strategy resolves by itself."""
        return self.since(10)

    # memory

    def mem_fraction_static(self, speculative: bool) -> float:
        """What a 96 GB card gets for Qwen3.5 MoE without --mem-fraction-static."""
        if self.since(16):
            return 0.785126015625
        if self.since(14) or not speculative:
            return 0.7897498437499999
        return 0.7509096875 if self.since(10) else 0.7703297656249999

    # HTTP

    @property
    def stops_uvicorn_itself(self) -> bool:
        """Seen in 0.5.23; 0.5.18 ends its own process tree instead."""
        return self.since(23)

    @property
    def has_ready_endpoint(self) -> bool:
        return self.since(20)

    @property
    def has_get_load(self) -> bool:
        return not self.since(21)

    @property
    def freezes_gc_after_warmup(self) -> bool:
        return self.since(18)

    @property
    def retractions_key(self) -> str:
        return "num_retractions" if self.since(12) else "total_retractions"

    @property
    def measures_cap_length(self) -> bool:
        """Two gauges of DSpark, which are there with any algorithm and without one."""
        return self.since(16)

    @property
    def details_answers(self) -> bool:
        """The moments of a request, and where its tokens come from."""
        return self.since(23)

    @property
    def details_memory(self) -> bool:
        """Also how long each step of the start took."""
        return self.since(18)

    @property
    def shows_world_size(self) -> bool:
        """Also what the decode graphs are captured for."""
        return self.since(23)

    @property
    def shows_hicache_layout(self) -> bool:
        return self.since(23)

    @property
    def shows_kv_events(self) -> bool:
        return self.since(13)

    @property
    def shows_launch_command(self) -> bool:
        return self.since(20)

    @property
    def shows_frontend(self) -> bool:
        return self.since(21)

    @property
    def accept_rate_counts_drafts(self) -> bool:
        """Correct over proposed drafts; before, accept length over draft tokens."""
        return self.since(11)

    @property
    def names_accepted_drafts(self) -> bool:
        return self.since(11) and not self.since(23)

    @property
    def names_correct_drafts(self) -> bool:
        return self.since(12)

    @property
    def counts_verify_calls(self) -> bool:
        """The metrics have spec_verify_calls_total, spec_num_steps and spec_num_draft_tokens."""
        return self.since(13)


def nearest_template(release: Release) -> str:
    """The path of the template of this release, else of the nearest older one. Raises ValueError."""
    numbers = sorted(tuple(map(int, name[: -len(".json")].split("."))) for name in os.listdir(TEMPLATES))
    older = [number for number in numbers if number <= release.number]
    if not older:
        oldest = ".".join(map(str, numbers[0]))
        raise ValueError(f"SGLang {release.text} is older than {oldest}, the oldest release the stand-in knows")
    return os.path.join(TEMPLATES, ".".join(map(str, older[-1])) + ".json")


def installed_release(environ: Mapping[str, str]) -> Release:
    """From STANDIN_SGLANG_VERSION, else from the installed ``sglang`` distribution, else the newest known."""
    wanted = environ.get("STANDIN_SGLANG_VERSION")
    if wanted:
        return Release(wanted)
    try:
        return Release(importlib.metadata.version("sglang"))
    except importlib.metadata.PackageNotFoundError:
        return Release(NEWEST_KNOWN)
