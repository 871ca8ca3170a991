# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``/metrics`` in Prometheus' text format: the figures a rollout reads, under SGLang's names."""

from __future__ import annotations

from sglang.engine import Engine
from sglang.run import Run


def metrics(run: Run, engine: Engine) -> str:
    """The ``spec_*`` gauges exist, as 0.0, without speculation too; ``spec_verify_calls_total`` then does not."""
    running, waiting, tokens = engine.load
    spec = engine.spec_totals
    logged = spec if engine.logged_accept_length is not None else None
    model = f'engine_type="unified",model_name="{run.fields["served_model_name"]}"'
    rank = model + ',moe_ep_rank="0",pp_rank="0",tp_rank="0"'
    lines = [
        *metric("num_running_reqs", "gauge", "The number of running requests.", rank, running),
        *metric("num_queue_reqs", "gauge", "The number of requests in the waiting queue.", rank, waiting),
        *metric("num_used_tokens", "gauge", "The number of used tokens.", rank, tokens),
        *metric("token_usage", "gauge", "The token usage.", rank, tokens / run.plan.tokens),
        *metric("gen_throughput", "gauge", "The generation throughput (token/s).", rank, engine.last_throughput),
        *metric("max_total_num_tokens", "gauge", "Maximum total number of tokens.", rank, run.plan.tokens),
        *counter("prompt_tokens", "Number of prefill tokens processed.", model, engine),
        *counter("generation_tokens", "Number of generation tokens processed.", model, engine),
        *counter("requests", "Number of requests processed.", model, engine, name="num_requests"),
        *metric(
            "spec_accept_length",
            "gauge",
            "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).",
            rank,
            logged.accept_length if logged else 0.0,
        ),
        *metric(
            "spec_accept_rate",
            "gauge",
            "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).",
            rank,
            logged.accept_rate(run.release) if logged else 0.0,
        ),
    ]
    if run.release.measures_cap_length:
        lines += metric("spec_cap_length", "gauge", "Mean capped draft length of DSpark.", rank, 0.0)
        lines += metric("spec_block_accept_length", "gauge", "Mean accept length of DSpark's blocks.", rank, 0.0)
    if run.release.counts_verify_calls:
        for name in ("num_steps", "num_draft_tokens"):
            value = run.fields["speculative_" + name] or 0
            lines += metric("spec_" + name, "gauge", f"Currently active speculative_{name}.", rank, value)
        if spec is not None and spec.verifies:
            text = "Number of speculative decoding verification calls."
            lines += metric("spec_verify_calls_total", "counter", text, model, spec.verifies)
    return "\n".join(lines) + "\n"


def metric(name: str, kind: str, text: str, labels: str, value: float) -> list[str]:
    name = "sglang:" + name
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name}{{{labels}}} {float(value)}"]


def counter(total: str, text: str, labels: str, engine: Engine, name: str = "") -> list[str]:
    return metric((name or total) + "_total", "counter", text, labels, engine.totals[total])
