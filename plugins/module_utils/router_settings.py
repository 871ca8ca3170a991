# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what a router must be told about a worker so that it is, after a re-admission, what it was before.

A router's list shows the settings of a worker, what the router has found out by itself, and how the worker is doing,
all side by side. Only the settings may be sent back: what was found out is old as soon as the server restarts, and
sglang-router and smg let a label that is sent win over the one that is found (seen on 0.2.4, 0.3.2 and smg 1.13.0).

No router shows a worker's key, so no key is in here. Nor does sglang-router (up to 0.3.2) show a worker's own health
check settings: they are lost unless the operator gives them.
"""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import redaction

NOT_SETTINGS = frozenset(
    (
        "id",
        "url",
        "is_healthy",
        "status",
        "load",
        "engine_load",
        "job_status",
        "connection_mode",
        "runtime_type",
        "model_id",
        "models",
        "labels",
        "metadata",
        "dp_base_url",
        "dp_rank",
        "dp_size",
    )
)

# What the routers copy from /server_info, /model_info and /v1/models, and copies of settings that have a field.
FOUND_LABELS = frozenset(
    (
        "model_id",
        "model_path",
        "model_type",
        "served_model_name",
        "tokenizer_path",
        "tp_size",
        "dp_size",
        "pp_size",
        "cp_size",
        "attn_dp_size",
        "enable_dp_attention",
        "load_balance_method",
        "disaggregation_mode",
        "version",
        "weight_version",
        "is_embedding",
        "is_generation",
        "has_image_understanding",
        "has_audio_understanding",
        "architectures",
        "context_length",
        "max_context_length",
        "max_model_len",
        "max_total_tokens",
        "max_req_input_len",
        "max_running_requests",
        "vocab_size",
        "default_sampling_params",
        "metrics_url",
        "priority",
        "cost",
        "reasoning_parser",
        "tool_parser",
        "chat_template",
    )
)


def settings_of(worker):
    """The settings of a :class:`router_dialects.Worker`, as the body of an addition takes them, without its url."""
    if not worker.entries:
        return {}
    entry = worker.entries[0]
    settings = {name: value for name, value in entry.items() if name not in NOT_SETTINGS and _is_worth(name, value)}
    # The list of sglang-router 0.3.x calls it runtime_type, and its addition runtime; smg takes both.
    if entry.get("runtime_type") not in (None, "unspecified"):
        settings["runtime"] = entry["runtime_type"]
    labels = _labels(entry)
    own = {name: value for name, value in labels.items() if name not in FOUND_LABELS and _is_worth(name, value)}
    if own:
        settings["labels"] = own
    settings.update(_given_model(entry, labels))
    if worker.has_ranks:
        settings["dp_aware"] = True
    return settings


def merged(settings, wanted):
    """``settings`` with those of the operator, which win; labels are merged one by one."""
    result = dict(settings or {}, **(wanted or {}))
    labels = dict((settings or {}).get("labels") or {}, **((wanted or {}).get("labels") or {}))
    if labels:
        result["labels"] = labels
    return result


def _is_worth(name, value):
    return value not in (None, "", [], {}) and not redaction.is_secret_value(name, value)


def _labels(entry):
    labels = entry.get("labels") or entry.get("metadata")
    return labels if isinstance(labels, dict) else {}


def _given_model(entry, labels):
    """The model's name when an operator gave it: then it is none of those that the server gives itself."""
    found = (labels.get("served_model_name"), labels.get("model_path"))
    if not any(found):
        return {}
    cards = entry.get("models")
    if isinstance(cards, list) and cards:
        names = [card.get("id") for card in cards if isinstance(card, dict)]
        return {} if any(name in found for name in names) else {"models": [{"id": name} for name in names if name]}
    model = entry.get("model_id")
    return {"model_id": model} if model and model not in found + ("unknown",) else {}
