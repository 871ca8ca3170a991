# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the steps of a start and of a request took, as answers tell it. Seconds, or seconds since 1970."""

from __future__ import annotations

import time

from sglang.engine import Request
from sglang.graphs import PHASES
from sglang.run import Run


def of_scheduler(run: Run) -> dict:
    """Which share of a load its steps take is invented."""
    seconds = run.settings.load_seconds
    return {
        "load_weight": seconds * 0.45,
        "kv_cache_allocation": seconds * 0.05,
        "scheduler_e2e": run.loaded - run.started,
        "cuda_graph": {**dict.fromkeys(PHASES, 0.0), "decode": seconds * 0.1 if run.captures_graphs else 0.0},
    }


def of_start(run: Run) -> dict:
    times = of_scheduler(run)
    return {**times, "tokenizer_e2e": times["scheduler_e2e"]}


def line_of_start(run: Run) -> str:
    return "Engine startup timings (s): " + listed(of_start(run))


def listed(times: dict) -> str:
    return ", ".join(
        f"{name}={{{listed(value)}}}" if isinstance(value, dict) else f"{name}={value:.2f}"
        for name, value in times.items()
    )


def of_request(request: Request) -> dict:
    """The last ones are there when all is said."""
    times = {
        "storage_prefetch_wait": 0.0,
        "storage_staging_wait": 0.0,
        "forward_entry_time": request.admitted,
        "prefill_finished_time": request.prefilled,
        "queue_time": request.admitted - request.started,
        "request_received_ts": request.started,
        "api_server_dispatch_finish_ts": request.started,
        "first_token_latency": request.prefilled - request.started,
    }
    if request.finished:
        now = time.time()
        times["request_finished_ts"] = times["response_sent_to_client_ts"] = now
        times["decode_throughput"] = (request.done - 1) / max(now - request.prefilled, 1e-6)
    return times
