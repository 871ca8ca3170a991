# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import router_settings
from ansible_collections.llmops.sglang.plugins.module_utils.router_dialects import ListApi, RestApi

URL = "http://127.0.0.1:41003"
# As listed by the released routers after the same addition: priority 77, cost 2.5, model other, label zone=a, ...
OF_0_2_4 = {
    "id": URL,
    "url": URL,
    "model_id": "other",
    "priority": 77,
    "cost": 2.5,
    "worker_type": "regular",
    "is_healthy": True,
    "load": 0,
    "connection_mode": "HTTP",
    "tokenizer_path": "/tok",
    "reasoning_parser": "qwen3",
    "metadata": {"priority": "77", "served_model_name": "fake", "cost": "2.5", "zone": "a", "model_path": "/m/x"},
}
OF_0_3_2 = dict(OF_0_2_4, id="c3b3813a-7a67-423a-b1bb-a11f4f22f53c", disable_health_check=False, runtime_type="vllm")
OF_SMG = {
    "id": "01a22835-0b95-736f-862a-0880bc0ac9ee",
    "model_id": "fake",
    "url": URL,
    "models": [{"id": "fake", "model_type": ["chat"]}],
    "worker_type": "prefill",
    "connection_mode": "http",
    "runtime_type": "sglang",
    "labels": {"served_model_name": "fake", "zone": "a", "tp_size": "1", "version": "0.5.12"},
    "bootstrap_port": 8998,
    "priority": 77,
    "cost": 2.5,
    "health": {"check_interval_secs": 11, "drain_settle_secs": 1},
    "is_healthy": True,
    "status": "ready",
    "load": 4,
    "http2": False,
    "engine_load": {"loads": []},
}


def settings(entry, **changes):
    return router_settings.settings_of(RestApi.workers({"workers": [dict(entry, **changes)]})[0])


def test_settings_of_0_2_4():
    assert settings(OF_0_2_4) == {
        "priority": 77,
        "cost": 2.5,
        "worker_type": "regular",
        "model_id": "other",
        "tokenizer_path": "/tok",
        "reasoning_parser": "qwen3",
        "labels": {"zone": "a"},
    }


def test_0_3_2_takes_the_runtime_under_another_name_than_it_shows():
    assert settings(OF_0_3_2)["runtime"] == "vllm"
    assert "runtime_type" not in settings(OF_0_3_2)


def test_settings_of_smg():
    assert settings(OF_SMG) == {
        "worker_type": "prefill",
        "bootstrap_port": 8998,
        "runtime": "sglang",
        "labels": {"zone": "a"},
        "priority": 77,
        "cost": 2.5,
        "health": {"check_interval_secs": 11, "drain_settle_secs": 1},
        "http2": False,
    }


def test_the_old_api_knows_no_settings():
    assert router_settings.settings_of(ListApi.workers({"urls": [URL]})[0]) == {}


def test_a_model_that_the_server_names_itself_is_not_frozen():
    assert "model_id" not in settings(OF_0_2_4, model_id="fake")
    assert "model_id" not in settings(OF_0_2_4, model_id="/m/x")
    assert "models" not in settings(OF_SMG)


def test_a_model_that_the_operator_named_is_kept():
    assert settings(OF_SMG, models=[{"id": "custom"}])["models"] == [{"id": "custom"}]


def test_a_model_that_was_never_found_out_is_not_kept():
    assert "model_id" not in settings(OF_0_2_4, model_id="unknown", metadata={})


def test_what_looks_like_a_key_is_never_kept():
    kept = settings(OF_SMG, api_key="sk-1", labels={"zone": "a", "hf_token": "hf-1"})
    assert "sk-1" not in str(kept)
    assert "hf-1" not in str(kept)
    assert kept["labels"] == {"zone": "a"}


def test_a_server_that_was_listed_by_ranks_is_added_so_again():
    ranks = [dict(OF_SMG, url=f"{URL}@{rank}", dp_rank=rank, dp_size=2, dp_base_url=URL) for rank in (0, 1)]
    kept = router_settings.settings_of(RestApi.workers({"workers": ranks})[0])
    assert kept["dp_aware"] is True
    assert not {"dp_rank", "dp_size", "dp_base_url"} & set(kept)


@pytest.mark.parametrize(
    ("recorded", "wanted", "merged"),
    [
        (None, None, {}),
        ({"priority": 1, "cost": 2.0}, {"priority": 9}, {"priority": 9, "cost": 2.0}),
        ({"labels": {"zone": "a", "rack": "1"}}, {"labels": {"zone": "b"}}, {"labels": {"zone": "b", "rack": "1"}}),
        ({"labels": {"zone": "a"}}, {}, {"labels": {"zone": "a"}}),
    ],
)
def test_what_the_operator_wants_wins_over_what_was_recorded(recorded, wanted, merged):
    assert router_settings.merged(recorded, wanted) == merged


def test_merging_leaves_the_record_as_it_was():
    recorded = {"labels": {"zone": "a"}}
    router_settings.merged(recorded, {"labels": {"zone": "b"}})
    assert recorded == {"labels": {"zone": "a"}}
