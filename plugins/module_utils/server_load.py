# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: how many requests one server still works on, from whichever endpoint its release has.

``/v1/loads`` since 0.5.8, ``/get_load`` from 0.4.10 to 0.5.20, ``/metrics`` where the server was started with
``--enable-metrics``. All of them leave out a request that is being prefilled: it is neither waiting nor running
(``get_loads`` counts ``running_batch`` and the queues in every release up to 0.5.23; sgl-project/sglang#14737). What it
holds in the cache is counted, so the tokens are read as well.
"""

from __future__ import annotations

import dataclasses
import re

ENDPOINTS = ("/v1/loads", "/get_load", "/metrics")
SAMPLE = re.compile(r"^sglang[:_](num_running_reqs|num_queue_reqs|num_used_tokens)(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)
COUNTERS = ("num_running_reqs", "num_waiting_reqs", "num_reqs", "num_used_tokens", "num_tokens", "load")


@dataclasses.dataclass(frozen=True)
class Load:
    """One reading. ``requests`` run or wait, ``tokens`` are held in the cache by requests; ``None`` is not seen.

    ``state`` is that of the :class:`server_api.Answer`, ``endpoint`` the one that gave it.
    """

    requests: int | None = None
    tokens: int | None = None
    state: str = ""
    endpoint: str = ""
    error: str = ""

    @property
    def seen(self):
        return self.requests is not None


class ServerLoad:
    """The load of one server.

    :arg api: a :class:`server_api.ServerApi` with the server's own key.
    """

    def __init__(self, api):
        self._api = api
        self._endpoints = ENDPOINTS

    def read(self, timeout=None):
        """A :class:`Load`; never raises for what the server does."""
        for endpoint in self._endpoints[:-1]:
            answer = self._api.get(endpoint, timeout)
            if answer.status != 404:
                return self._load(endpoint, answer)
        endpoint = self._endpoints[-1]
        return self._load(endpoint, self._api.get(endpoint, timeout))

    def _load(self, endpoint, answer):
        requests, tokens = counts(endpoint, answer) if answer.ok else (None, None)
        if requests is not None:
            self._endpoints = (endpoint,)
        return Load(requests, tokens, answer.state, endpoint, answer.error)


def counts(endpoint, answer):
    """``(requests, tokens)`` in the answer of one of :data:`ENDPOINTS`; ``None`` for what it does not tell."""
    if endpoint == "/metrics":
        return _of_samples(SAMPLE.findall(answer.body))
    content = answer.json()
    if endpoint == "/v1/loads":
        content = content.get("loads") if isinstance(content, dict) else None
    ranks = content if isinstance(content, list) else [content]
    if not ranks or not all(_is_rank(rank) for rank in ranks):
        return None, None
    found = [_of_rank(rank) for rank in ranks]
    tokens = [rank_tokens for _requests, rank_tokens in found if rank_tokens is not None]
    return sum(requests for requests, _tokens in found), sum(tokens) if tokens else None


def _is_rank(rank):
    return isinstance(rank, dict) and any(isinstance(rank.get(name), int) for name in COUNTERS)


def _of_rank(rank):
    """One data-parallel rank. 0.4.10 had ``load``, a number of tokens, and nothing else."""
    tokens = next((rank[name] for name in ("num_used_tokens", "num_tokens") if _is_count(rank.get(name))), None)
    if _is_count(rank.get("num_reqs")):
        return rank["num_reqs"], tokens
    if _is_count(rank.get("num_running_reqs")):
        return rank["num_running_reqs"] + (rank.get("num_waiting_reqs") or 0), tokens
    return (1 if rank.get("load") else 0), tokens


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _of_samples(samples):
    values = {}
    for name, value in samples:
        try:
            values[name] = values.get(name, 0) + int(float(value))
        except (ValueError, OverflowError):
            return None, None
    if "num_running_reqs" not in values:
        return None, None
    return values["num_running_reqs"] + values.get("num_queue_reqs", 0), values.get("num_used_tokens")
