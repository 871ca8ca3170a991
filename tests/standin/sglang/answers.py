# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The JSON documents of the endpoints that are asked, not told: configuration, models, load."""

from __future__ import annotations

import datetime
import time

from sglang import timings
from sglang.banner import plain
from sglang.engine import Engine
from sglang.graphs import PHASES
from sglang.memory import GRAPHS_GB
from sglang.ranks import world_size
from sglang.run import Run


def server_info(run: Run, engine: Engine) -> dict:
    """Every server argument at top level, keys in clear, then what the scheduler knows."""
    fields = {name: plain(value) for name, value in run.fields.items()}
    release = run.release
    document = {
        **fields,
        "status": "ready",
        "max_total_num_tokens": run.plan.tokens,
        "max_req_input_len": run.context_length - 6,
        "internal_states": [{**without_handler(fields), **internal_state(run, engine)}],
        "version": release.text,
    }
    if release.details_memory:
        document["startup_time"] = timings.of_start(run)
    if release.shows_hicache_layout:
        document["hicache_object_layout"] = {
            "enabled": False,
            "backend": None,
            "page_size": run.fields["page_size"],
            "hicache_object_layout": {"pools": []},
            "reason": "Hierarchical cache is disabled",
        }
    if release.shows_kv_events:
        document["kv_events"] = None
    if release.shows_launch_command:
        document["launch_command"] = " ".join(run.argv)
    if release.shows_frontend:
        document["frontend"] = "python"
    return document


def without_handler(fields: dict) -> dict:
    return {name: value for name, value in fields.items() if name != "custom_sigquit_handler"}


def internal_state(run: Run, engine: Engine) -> dict:
    """``avg_spec_accept_length`` is absent until a decode interval has been logged."""
    state = {
        "last_gen_throughput": engine.last_throughput,
        "memory_usage": memory_usage(run),
        "effective_max_running_requests_per_dp": run.max_running_requests,
    }
    if run.release.details_memory:
        state["startup_time"] = timings.of_scheduler(run)
    if run.release.shows_world_size:
        state["world_size"] = world_size(run.fields)
        state["decode_cuda_graph_bs"] = run.fields["cuda_graph_config"]["decode"]["bs"] if run.captures_graphs else []
        state["decode_cuda_graph_memory_gb"] = graphs_gb(run)
    if engine.logged_accept_length is not None:
        state["avg_spec_accept_length"] = engine.logged_accept_length
    return state


def memory_usage(run: Run) -> dict:
    """GB and tokens, of the target only."""
    usage = {
        "weight": run.plan.target_gb,
        "kvcache": round(run.plan.target_pool_gb, 2),
        "token_capacity": run.plan.tokens,
        "graph": graphs_gb(run),
    }
    if run.release.details_memory:
        usage["startup_available"] = round(run.plan.available_gb, 3)
        usage["token_capacity_swa"] = None
        usage["graph"] = {**dict.fromkeys(PHASES, 0.0), "decode": graphs_gb(run)}
    return usage


def graphs_gb(run: Run) -> float:
    return GRAPHS_GB if run.captures_graphs else 0.0


def model_info(run: Run) -> dict:
    """The target only: no endpoint says anything about the draft model."""
    return {
        "model_path": run.fields["model_path"],
        "served_model_name": run.fields["served_model_name"],
        "tokenizer_path": run.fields["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "has_image_understanding": run.target.sees_images,
        "has_audio_understanding": False,
        "model_type": run.target.model_type,
        "architectures": [run.target.architecture],
    }


def models(run: Run) -> dict:
    name = run.fields["served_model_name"]
    card = {
        "id": name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "sglang",
        "root": name,
        "parent": None,
        "max_model_len": run.context_length,
    }
    return {"object": "list", "data": [card]}


def loads(run: Run, engine: Engine) -> dict:
    """``/v1/loads``: one entry per data-parallel rank, of which the stand-in has one."""
    running, waiting, tokens = engine.load
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    share = round(tokens / run.plan.tokens, 4)
    entry = {
        "timestamp": now,
        "dp_rank": 0,
        "num_running_reqs": running,
        "num_waiting_reqs": waiting,
        "num_total_reqs": running + waiting,
        "num_used_tokens": tokens,
        "max_total_num_tokens": run.plan.tokens,
        "token_usage": share,
        "gen_throughput": engine.last_throughput if running else 0.0,
        "cache_hit_rate": 0.0,
        "utilization": 0.0,
        "max_running_requests": run.max_running_requests,
    }
    return {
        "timestamp": now,
        "version": run.release.text,
        "accelerator": None,
        "num_accelerators": run.fields["tp_size"],
        "loads": [entry],
        "aggregate": {
            "total_running_reqs": running,
            "total_waiting_reqs": waiting,
            "total_reqs": running + waiting,
            "avg_token_usage": share,
            "avg_throughput": entry["gen_throughput"],
            "avg_utilization": 0.0,
        },
    }


def get_load(engine: Engine) -> list[dict]:
    running, waiting, tokens = engine.load
    return [{"dp_rank": 0, "num_reqs": running + waiting, "num_waiting_reqs": waiting, "num_tokens": tokens}]
