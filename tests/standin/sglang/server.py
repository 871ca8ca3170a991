# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that has loaded: its status, its requests, and the faults that strike while it serves."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NoReturn

from sglang.completions import Question
from sglang.engine import Engine, Request
from sglang.failures import end_while_serving, traceback_of
from sglang.generation import answer, tokens_of
from sglang.run import Run

STARTING = "Starting"
UP = "Up"
DRAINING = "GracefulShutdown"
BUSY_EVERY = 3


class Server:
    """``status`` is what SGLang's tokenizer manager calls it; ``open_requests`` are those a stop waits for, which
    the warm-up's are not. Thread-safe.
    """

    def __init__(self, run: Run):
        self.run = run
        self.engine = Engine(run)
        self.status = STARTING
        self.open_requests: set[str] = set()
        self._seen: Counter = Counter()
        self._user_requests = 0
        self._health_checks = 0
        self._lock = threading.Lock()

    def become_ready(self) -> None:
        if self.status != STARTING:
            return
        self.status = UP
        self.run.console.log("The server is fired up and ready to roll!")
        if "ready-then-dead" in self.run.faults:
            timer = threading.Timer(self.run.settings.fault_seconds, self.die)
            timer.daemon = True
            timer.start()

    def die(self) -> NoReturn:
        end_while_serving(self.run.console, self.run.release, traceback_of("crash-in-event-loop"), self.engine.tag)

    def check_health(self) -> bool:
        """One token is generated; a busy server can fail that once and be well the next time."""
        with self._lock:
            self._health_checks += 1
            busy = "busy-503" in self.run.faults and self._health_checks % BUSY_EVERY == 0
        if busy:
            now = time.strftime("%H:%M:%S")
            self.run.console.log(
                "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. "
                f"tic start time: {now}. last_heartbeat time: {now}",
                "error",
            )
            return False
        self.engine.log_prefill(tokens=1, cached=0)
        time.sleep(self.run.settings.health_seconds)
        return True

    @contextlib.contextmanager
    def generation(
        self, question: Question, client_is_gone: Callable[[], bool]
    ) -> Iterator[tuple[Request, Iterator[int]]]:
        """Yield the request and the progress of its words; an unfinished one is aborted at the end."""
        request = self._request(question)
        if self.status != STARTING:
            self.open_requests.add(request.rid)
        try:
            if not self._is_swallowed():
                self.engine.submit(request)
            yield request, request.progress(client_is_gone)
        finally:
            self.engine.abort(request)
            self.open_requests.discard(request.rid)

    def _request(self, question: Question) -> Request:
        with self._lock:
            times_seen = self._seen[question.prompt]
            self._seen[question.prompt] += 1
        salt = ""
        if question.temperature > 0:
            salt = str(random.random())
        elif "unsteady-output" in self.run.faults and times_seen:
            salt = str(times_seen)
        words = answer(question.prompt, question.max_tokens, salt, "garbage-output" in self.run.faults)
        prompt_tokens = len(tokens_of(question.prompt))
        cached = prompt_tokens - 1 if times_seen and not self.run.fields["disable_radix_cache"] else 0
        return Request(prompt_tokens, words, cached)

    def _is_swallowed(self) -> bool:
        """Whether a fault keeps this request from ever being answered; some take the server with it."""
        faults = self.run.faults
        if self.status == STARTING:
            if "crash-in-warmup" in faults:
                self.die()
            return "never-ready" in faults
        with self._lock:
            self._user_requests += 1
            number = self._user_requests
        if "crash-on-first-request" in faults:
            self.die()
        return "hang-on-request" in faults and number >= faults.count("hang-on-request")
