# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the banner to the last rank being ready: weights, memory pools, graphs, in the order of the release."""

from __future__ import annotations

import os
import signal
import time
from typing import NoReturn

from sglang import timings
from sglang.checkpoints import Checkpoint, CheckpointMissing, read_checkpoint
from sglang.failures import (
    RankDied,
    draft_folder_missing,
    end_while_loading,
    end_while_serving,
    no_room_for_cache,
    traceback_of,
    unknown_draft_class,
)
from sglang.memory import FREE_AT_START_GB, GRAPHS_GB, MemoryPlan, NoRoomForCache, plan_memory
from sglang.rendezvous import meet
from sglang.run import Run

PROGRESS_BAR = (
    "\rMulti-thread loading shards:   0% Completed | 0/1 [00:00<?, ?it/s]"
    "\rMulti-thread loading shards: 100% Completed | 1/1 [00:00<00:00, 916.99it/s]"
)


class Loading:
    """Each step logs for all ranks. Raises RankDied; the time a step takes is a share of the whole load."""

    def __init__(self, run: Run):
        self.run = run
        self.fail_after_draft = "crash-after-draft-load" in run.faults or flaky_start_fails(run)

    def load(self) -> MemoryPlan:
        run = self.run
        self._init_ranks()
        self._load_target()
        if run.release.loads_draft_before_pools:
            self._load_draft(FREE_AT_START_GB - run.settings.target_memory_gb)
            plan = self._plan_memory()
            self._allocate_pools(plan, plan.after_draft_gb)
        else:
            plan = self._plan_memory()
            self._allocate_pools(plan, plan.after_target_gb)
            self._load_draft(plan.after_target_gb - plan.target_pool_gb)
        self._allocate_draft_pool(plan)
        if run.loads_draft and self.fail_after_draft:
            raise RankDied(traceback_of("crash-after-draft-load"))
        self._capture_graphs(plan)
        self._announce_capacity(plan)
        return plan

    def _log(self, text: str) -> None:
        for tag in self.run.tags:
            self.run.console.log(text, tag=tag)

    def _log_first(self, text: str) -> None:
        self.run.console.log(text, tag=self.run.tags[0])

    def _init_ranks(self) -> None:
        parallel = self.run.release.calls_init_parallel
        self._log("Init parallel begin." if parallel else "Init torch distributed begin.")
        self.run.group = meet(self.run.fields)
        self.run.group.watch(lambda: end_with_the_group(self.run))
        self.run.pause(0.1)
        ends = "Init parallel ends. elapsed=0.42 s" if parallel else self._distributed_ends(0.42)
        self._log(ends)

    def _distributed_ends(self, seconds: float) -> str:
        return f"Init torch distributed ends. elapsed={seconds:.2f} s, mem usage=0.00 GB"

    def _load_target(self) -> None:
        run = self.run
        before = FREE_AT_START_GB
        self._log(f"Load weight begin. avail mem={before:.2f} GB")
        if "stuck-loading" in run.faults:
            signal.pause()
        begin = time.time()
        run.pause(0.35)
        if run.fields["load_format"] != "dummy" and not run.is_follower:
            run.console.raw(PROGRESS_BAR)
        self._report_weights(run.tags, begin, run.target.architecture, before, run.settings.target_memory_gb)

    def _load_draft(self, before: float) -> None:
        run = self.run
        if run.draft_wanted and not run.release.loads_draft_before_pools:
            self._log("Init torch distributed begin.")
            self._log(self._distributed_ends(0.01))
        if not run.loads_draft:
            self._keep_step()
            return
        draft = self._open_draft()
        self._log(f"Load weight begin. avail mem={before:.2f} GB")
        self._keep_step()
        begin = time.time()
        run.pause(0.1)
        reporting = run.tags[:-1] if "draft-missing-rank" in run.faults else run.tags
        self._report_weights(reporting, begin, self._draft_class(draft), before, run.settings.draft_memory_gb)

    def _keep_step(self) -> None:
        """Ranks of which only some have a draft model wait for each other, and say no more."""
        while not self.run.group.in_step:
            signal.pause()

    def _open_draft(self) -> Checkpoint:
        path = self.run.fields["speculative_draft_model_path"]
        try:
            draft = read_checkpoint(path)
        except CheckpointMissing:
            raise draft_folder_missing(path) from None
        if not draft.is_known:
            raise unknown_draft_class(draft.architecture)
        return draft

    def _draft_class(self, draft: Checkpoint) -> str:
        if "draft-other-class" in self.run.faults:
            return "LlamaForCausalLM"
        standalone = self.run.fields["speculative_algorithm"] == "STANDALONE"
        return draft.architecture if standalone else draft.draft_class

    def _report_weights(self, tags: list[str], begin: float, model: str, before: float, usage: float) -> None:
        dtype = "dtype=torch.bfloat16, " if self.run.release.prints_weight_dtype else ""
        for tag in tags:
            self.run.console.log(
                f"Load weight end. elapsed={time.time() - begin:.2f} s, type={model}, {dtype}"
                f"avail mem={before - usage:.2f} GB, mem usage={usage:.2f} GB.",
                tag=tag,
            )

    def _plan_memory(self) -> MemoryPlan:
        run = self.run
        fraction = run.fields["mem_fraction_static"]
        target, draft = run.settings.target_memory_gb, run.settings.draft_memory_gb if run.loads_draft else 0.0
        counts = run.release.loads_draft_before_pools
        try:
            if "not-enough-memory" in run.faults:
                raise NoRoomForCache(min(fraction + 0.0225, 0.99))
            return plan_memory(fraction, target, draft, counts, run.fields["max_total_tokens"])
        except NoRoomForCache as error:
            raise no_room_for_cache(run.release, fraction, error.minimum) from None

    def _allocate_pools(self, plan: MemoryPlan, before: float) -> None:
        self.run.pause(0.05)
        if self.run.target.is_hybrid_mamba:
            self._log(
                f"Mamba Cache is allocated. max_mamba_cache_size: {self.run.max_running_requests}, "
                "conv_state size: 0.09GB, ssm_state size: 2.30GB "
            )
        self._log_pool(plan.tokens, plan.target_pool_gb, before - plan.target_pool_gb)

    def _allocate_draft_pool(self, plan: MemoryPlan) -> None:
        if self.run.loads_draft:
            self._log_pool(plan.tokens, plan.draft_pool_gb, plan.after_pools_gb)

    def _log_pool(self, tokens: int, size: float, left: float) -> None:
        dtype = "dtype: torch.bfloat16, " if self.run.release.prints_kv_dtype else ""
        self._log(
            f"KV Cache is allocated. {dtype}#tokens: {tokens}, K size: {size / 2:.2f} GB, V size: {size / 2:.2f} GB"
        )
        self._log(f"Memory pool end. avail mem={left:.2f} GB")

    def _capture_graphs(self, plan: MemoryPlan) -> None:
        run = self.run
        if not run.captures_graphs:
            return
        self._log(
            f"Capture cuda graph begin. This can take up to several minutes. avail mem={plan.after_pools_gb:.2f} GB"
        )
        begin = time.time()
        run.pause(0.1)
        if "oom" in run.faults:
            raise RankDied(traceback_of("out-of-memory", gpu="0"))
        self._log(
            f"Capture cuda graph end. Time elapsed: {time.time() - begin:.2f} s. "
            f"mem usage={GRAPHS_GB:.2f} GB. avail mem={plan.available_gb:.2f} GB."
        )

    def _announce_capacity(self, plan: MemoryPlan) -> None:
        """The first rank of the group speaks for all."""
        run = self.run
        run.loaded = time.time()
        if run.is_follower:
            return
        self._log_first(
            f"max_total_num_tokens={plan.tokens}, chunked_prefill_size={run.fields['chunked_prefill_size']}, "
            f"max_prefill_tokens={run.fields['max_prefill_tokens']}, max_running_requests={run.max_running_requests}, "
            f"context_len={run.context_length}, "
            f"available_{'cpu' if run.on_cpu else 'gpu'}_mem={plan.available_gb:.2f} GB"
        )
        if run.release.prints_startup_timings:
            run.console.log(timings.line_of_start(run))


def end_with_the_group(run: Run) -> NoReturn:
    """A node was lost: the ranks here fail in their next broadcast, which an idle server makes all the time too."""
    end = end_while_loading if run.plan is None or run.is_follower else end_while_serving
    end(run.console, run.release, traceback_of("node-lost"), run.tags[0])


def flaky_start_fails(run: Run) -> bool:
    """Count this start; of every N the first one fails."""
    if "start-fails-once-in" not in run.faults:
        return False
    path = run.settings.state_file
    starts = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            starts = int(file.read() or 0)
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(starts + 1))
    return starts % run.faults.count("start-fails-once-in") == 0
