# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients: so many chat requests a second through a router, every second one a stream, each answer read to its end."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import http.client
import json
import threading
import time

from router_lab.server import MODEL, TOKENS_PER_SECOND

RATE = 20
CLIENTS = 100
REQUEST_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Outcome:
    """``trouble`` is ``""`` for a request that was answered as it should be."""

    stream: bool
    trouble: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Report:
    outcomes: list

    @property
    def sent(self):
        return len(self.outcomes)

    @property
    def failed(self):
        return [outcome for outcome in self.outcomes if outcome.trouble and not outcome.stream]

    @property
    def broken_streams(self):
        return [outcome for outcome in self.outcomes if outcome.trouble and outcome.stream]

    @property
    def longest(self):
        return max(outcome.seconds for outcome in self.outcomes)


class Traffic:
    """Sends until it is stopped. The rate does not depend on how fast the answers come."""

    def __init__(self, port, key):
        self._port = port
        self._key = key
        self._stopped = threading.Event()
        self._sent = []
        self._pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self._clock = threading.Thread(target=self._send, daemon=True)

    def __enter__(self):
        self._clock.start()
        return self

    def __exit__(self, *_exception):
        self._stopped.set()
        self._clock.join(REQUEST_SECONDS)
        self._pool.shutdown(wait=True)

    def report(self):
        """All outcomes; after the traffic has been left."""
        return Report([future.result() for future in self._sent])

    def _send(self):
        due = time.monotonic()
        while not self._stopped.wait(max(due - time.monotonic(), 0)):
            self._sent.append(self._pool.submit(ask, self._port, self._key, len(self._sent)))
            due += 1 / RATE


def ask(port, key, number):
    """One request; the odd ones are streams."""
    stream = number % 2 == 1
    start = time.monotonic()
    try:
        trouble = _ask(port, key, number, stream)
    except (OSError, http.client.HTTPException, ValueError) as error:
        trouble = f"{type(error).__name__}: {error}"
    return Outcome(stream, trouble, time.monotonic() - start)


def _ask(port, key, number, stream):
    content = {
        "model": MODEL,
        "messages": [{"role": "user", "content": f"Question {number}: what is a rollout?"}],
        "max_tokens": TOKENS_PER_SECOND,
        "stream": stream,
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
    try:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        connection.request("POST", "/v1/chat/completions", json.dumps(content), headers)
        response = connection.getresponse()
        body = response.read().decode()
    finally:
        connection.close()
    if response.status != 200:
        return f"status {response.status}: {body[:200]}"
    return stream_trouble(body) if stream else answer_trouble(body)


def answer_trouble(body):
    choices = json.loads(body).get("choices") or [{}]
    return "" if choices[0].get("finish_reason") else f"no finished answer: {body[:200]}"


def stream_trouble(body):
    """smg ends a stream that broke with an event that carries an error and ``[DONE]``, as if nothing had happened."""
    events = [line[len("data: "):] for line in body.splitlines() if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        return "the stream was cut"
    chunks = [json.loads(event) for event in events[:-1]]
    if any("error" in chunk for chunk in chunks):
        return "the stream carries an error"
    finished = any((chunk.get("choices") or [{}])[0].get("finish_reason") for chunk in chunks)
    return "" if finished else "the stream never finished"
