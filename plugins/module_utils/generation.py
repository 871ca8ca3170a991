# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: sends completions to a server, several at once, and writes down what came back for each."""

from __future__ import annotations

import dataclasses
import queue
import threading
import time

from ansible_collections.llmops.sglang.plugins.module_utils import acceptance, redaction, server_api
from ansible_collections.llmops.sglang.plugins.module_utils.acceptance import Acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output
from ansible_collections.llmops.sglang.plugins.module_utils.prompts import Prompt

# A busy server answers 503 for a moment.
TRIES_WHEN_BUSY = 4
SECONDS_BETWEEN_TRIES = 1.0
# The deadline holds for each read; this is for a server that sends its answer byte by byte.
SECONDS_BEYOND_DEADLINE = 2.0
LONGEST_MESSAGE = 300


@dataclasses.dataclass(frozen=True)
class Completion:
    """One request and its answer: ``output`` is ``None`` and ``error`` a sentence where no text came.

    ``state`` is that of the :class:`~server_api.Answer`. ``accepted`` is ``None`` where no draft was verified.
    """

    prompt: Prompt
    state: str
    seconds: float
    output: Output | None = None
    accepted: Acceptance | None = None
    error: str = ""

    def summary(self):
        return {
            "prompt": self.prompt.name,
            "seconds": round(self.seconds, 3),
            "tokens": self.output.tokens if self.output else 0,
            "accept_length": round(self.accepted.length, 3) if self.accepted else None,
            "error": self.error,
        }


def run(api, rounds, max_tokens, deadline, concurrency):
    """Send the rounds of :func:`prompts.plan`, one after the other, and return a list of :class:`Completion` in order.

    Ends after the first round if that shows that the server does not answer at all.

    :arg deadline: seconds for each request. ``concurrency``: how many are under way at once.
    """
    completions = []
    for prompts in rounds:
        completions += _run_round(api, prompts, max_tokens, deadline, concurrency)
        if not any(completion.output for completion in completions):
            break
    return completions


def complete(api, prompt, max_tokens, deadline, sleep=time.sleep):
    """One :class:`Completion`; a 503 is tried again, within the deadline."""
    start = time.monotonic()
    for _try in range(TRIES_WHEN_BUSY):
        remaining = start + deadline - time.monotonic()
        answer = api.generate(prompt.text, max_tokens, max(0.1, remaining))
        if answer.state != "503" or remaining <= SECONDS_BETWEEN_TRIES:
            break
        sleep(SECONDS_BETWEEN_TRIES)
    return read_answer(prompt, answer, time.monotonic() - start)


def read_answer(prompt, answer, seconds):
    """The :class:`~server_api.Answer` of ``/generate`` as a :class:`Completion`. Pure, and never raises."""
    body = answer.json()
    body = body if isinstance(body, dict) else {}
    meta_info = body.get("meta_info") if isinstance(body.get("meta_info"), dict) else {}
    finish = meta_info.get("finish_reason")
    kind = finish.get("type") if isinstance(finish, dict) else finish
    if not answer.ok:
        return Completion(prompt, answer.state, seconds, error=_failure(answer, body))
    if kind == "abort":
        return Completion(prompt, answer.state, seconds, error="the server aborted it" + _message(finish))
    if not isinstance(body.get("text"), str):
        return Completion(prompt, server_api.GARBLED, seconds, error="the answer holds no text")
    token_ids = _token_ids(body.get("output_ids"))
    tokens = meta_info.get("completion_tokens")
    tokens = tokens if isinstance(tokens, int) else len(token_ids)
    output = Output(body["text"], token_ids, tokens, "length" if kind == "length" else "stop")
    return Completion(prompt, answer.state, seconds, output, acceptance.of_request(meta_info))


def _run_round(api, prompts, max_tokens, deadline, concurrency):
    waiting = queue.Queue()
    done = {}
    for number, prompt in enumerate(prompts):
        waiting.put((number, prompt))

    def work():
        while True:
            try:
                number, prompt = waiting.get_nowait()
            except queue.Empty:
                return
            done[number] = complete(api, prompt, max_tokens, deadline)

    # Daemons: a request that never ends must not keep the module from ending.
    workers = [threading.Thread(target=work, daemon=True) for _worker in range(min(concurrency, len(prompts)))]
    for worker in workers:
        worker.start()
    turns = -(-len(prompts) // len(workers))
    last_moment = time.monotonic() + turns * (deadline + SECONDS_BEYOND_DEADLINE)
    for worker in workers:
        worker.join(max(0.0, last_moment - time.monotonic()))
    return [done.get(number) or _overdue(prompt, deadline) for number, prompt in enumerate(prompts)]


def _overdue(prompt, deadline):
    return Completion(prompt, server_api.TIMEOUT, deadline, error="no complete answer came in time")


def _token_ids(value):
    """``output_ids`` as a flat tuple; some releases wrap it in one more list."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or not all(isinstance(token, int) for token in value):
        return ()
    return tuple(value)


def _failure(answer, body):
    if answer.status:
        return f"it answered {answer.status}" + _message(body.get("error"))
    return answer.error


def _message(error):
    """What the server says about it, without secrets."""
    text = error.get("message") if isinstance(error, dict) else error
    if not isinstance(text, str) or not text:
        return ""
    text = redaction.Redactor().redact(text)
    shortened = text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + " …"
    return f" ({shortened})"
