# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scheduler: one batch of running requests, one step for all of them at a time."""

from __future__ import annotations

import collections
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator

from sglang.run import Run
from sglang.speculation import Counts, Drafts

DEFAULT_ACCEPT_LENGTH = 3.2
LOOK_AT_CLIENT_SECONDS = 0.2


class Request:
    """One generation: its words are known, the engine decides when they are out."""

    def __init__(self, prompt_tokens: int, words: list[str], cached_tokens: int):
        self.rid = uuid.uuid4().hex
        self.prompt_tokens = prompt_tokens
        self.cached_tokens = cached_tokens
        self.words = words
        self.done = 0
        self.drafts: Drafts | None = None
        self.counts: Counts | None = None
        self.started = time.time()
        self.admitted = self.prefilled = self.started
        self._news: queue.SimpleQueue = queue.SimpleQueue()

    @property
    def finished(self) -> bool:
        return self.done >= len(self.words)

    def advance(self, tokens: int) -> None:
        self.done = min(self.done + tokens, len(self.words))
        self._news.put(self.done)

    def progress(self, client_is_gone: Callable[[], bool]) -> Iterator[int]:
        """The number of words that are out, each time there are more, until all are or nobody listens."""
        while True:
            try:
                done = self._news.get(timeout=LOOK_AT_CLIENT_SECONDS)
            except queue.Empty:
                if client_is_gone():
                    return
                continue
            yield done
            if done >= len(self.words):
                return


class Engine:
    """Starts its own thread. Thread-safe."""

    def __init__(self, run: Run):
        self.run = run
        self.tag = run.tags[0]
        self.totals = collections.Counter()
        self.spec_totals: Counts | None = None
        self.logged_accept_length: float | None = None
        self.last_throughput = 0.0
        self._interval: Counts | None = None
        self._interval_tokens = 0
        self._interval_begin = time.time()
        self._steps = 0
        self._waiting: collections.deque[Request] = collections.deque()
        self._running: list[Request] = []
        self._changed = threading.Condition()
        if run.loads_draft:
            self._draft_tokens = run.fields["speculative_num_draft_tokens"]
            self.spec_totals, self._interval = Counts(self._draft_tokens), Counts(self._draft_tokens)
        threading.Thread(target=self._loop, name="scheduler", daemon=True).start()

    @property
    def load(self) -> tuple[int, int, int]:
        """Running requests, waiting requests, tokens in the cache."""
        with self._changed:
            return len(self._running), len(self._waiting), sum(r.prompt_tokens + r.done for r in self._running)

    def submit(self, request: Request) -> None:
        if self.spec_totals is not None:
            request.drafts = Drafts(self._accept_length(), self._draft_tokens - 1)
            request.counts = Counts(self._draft_tokens)
        self.totals["requests"] += 1
        self.totals["prompt_tokens"] += request.prompt_tokens
        with self._changed:
            self._waiting.append(request)
            self._changed.notify_all()

    def abort(self, request: Request) -> None:
        with self._changed:
            self._running = [running for running in self._running if running is not request]
            self._waiting = collections.deque(waiting for waiting in self._waiting if waiting is not request)

    def log_prefill(self, tokens: int, cached: int) -> None:
        self.run.console.log(
            f"Prefill batch, #new-seq: 1, #new-token: {tokens}, #cached-token: {cached}, {self._usage(decode=False)}, "
            f"#running-req: {len(self._running)}, #queue-req: {len(self._waiting)}, #pending-token: 0, "
            f"{self._graph(decode=False)}, input throughput (token/s): {self.run.settings.steps_per_second:.2f}",
            tag=self.tag,
        )

    def _accept_length(self) -> float:
        default = 1.0 if "accept-nothing" in self.run.faults else DEFAULT_ACCEPT_LENGTH
        asked = self.run.settings.accept_length
        return default if asked is None else asked

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._running or self._waiting)
                self._admit()
            time.sleep(1 / self.run.settings.steps_per_second)
            with self._changed:
                self._step()

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self.run.max_running_requests:
            request = self._waiting.popleft()
            request.admitted = request.prefilled = time.time()
            self.log_prefill(request.prompt_tokens - request.cached_tokens, request.cached_tokens)
            self._running.append(request)
            request.advance(1)
            self.totals["generation_tokens"] += 1
        self._running = [request for request in self._running if not request.finished]

    def _step(self) -> None:
        if not self._running:
            return
        for request in self._running:
            self._interval_tokens += self._decode(request)
        self._steps += 1
        if self._steps % self.run.fields["decode_log_interval"] == 0:
            self._log_decode()
        self._running = [request for request in self._running if not request.finished]

    def _decode(self, request: Request) -> int:
        """One step of one request; returns its new tokens."""
        tokens = 1
        if request.drafts is not None:
            correct = request.drafts.correct()
            tokens += correct
            for counts in (request.counts, self.spec_totals, self._interval):
                counts.add(correct)
        before = request.done
        request.advance(tokens)
        self.totals["generation_tokens"] += request.done - before
        return request.done - before

    def _log_decode(self) -> None:
        now = time.time()
        self.last_throughput = self._interval_tokens / max(now - self._interval_begin, 1e-6)
        accepted = ""
        if self._interval is not None:
            rate = self._interval.accept_rate(self.run.release)
            accepted = f"accept len: {self._interval.accept_length:.2f}, accept rate: {rate:.2f}, "
            self.logged_accept_length = self.spec_totals.accept_length
            self._interval = Counts(self._draft_tokens)
        self.run.console.log(
            f"Decode batch, #running-req: {len(self._running)}, {self._usage(decode=True)}, {accepted}"
            f"{self._graph(decode=True)}, gen throughput (token/s): {self.last_throughput:.2f}, "
            f"#queue-req: {len(self._waiting)}",
            tag=self.tag,
        )
        self._interval_tokens, self._interval_begin = 0, now

    def _usage(self, decode: bool) -> str:
        tokens = sum(request.prompt_tokens + request.done for request in self._running)
        share = tokens / self.run.plan.tokens
        if not self.run.target.is_hybrid_mamba:
            return (f"#token: {tokens}, " if decode else "") + f"token usage: {share:.2f}"
        count = f"#full token: {tokens}, " if decode else ""
        mamba = f"mamba num: {len(self._running)}, " if decode else ""
        mamba_share = len(self._running) / self.run.max_running_requests
        return f"{count}full token usage: {share:.2f}, {mamba}mamba usage: {mamba_share:.2f}"

    def _graph(self, decode: bool) -> str:
        device = "cpu" if self.run.on_cpu and self.run.release.calls_graphs_by_device else "cuda"
        return f"{device} graph: {decode and not self.run.on_cpu}"
