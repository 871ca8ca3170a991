# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-in has to agree with the real server that is started with the same flags."""

from __future__ import annotations

import compared_servers
import node_access
import observed_start
import pytest

MTP_FLAGS = [
    *("--speculative-algorithm", "NEXTN"),
    *("--speculative-draft-model-path", f"{compared_servers.MODELS}/good"),
    *("--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
]
# What this collection reads of /server_info, but for the paths, which are other ones here.
FIELDS = (
    "version",
    "speculative_algorithm",
    "mamba_radix_cache_strategy",
    "disable_overlap_schedule",
    "mem_fraction_static",
    "tp_size",
    "max_running_requests",
    "max_total_num_tokens",
)


@pytest.fixture(scope="module", params=[[], MTP_FLAGS], ids=["without MTP", "with MTP"])
def compared(request, running_node, tmp_path_factory):
    """What both show: first the real server, then the stand-in."""
    node_access.bring_back()
    shown = []
    log_file = tmp_path_factory.mktemp("standin") / "log"
    for server in (compared_servers.RealServer(request.param), compared_servers.Standin(request.param, log_file)):
        try:
            shown.append(observed_start.observe(server))
        finally:
            server.end()
    return shown


def test_the_log_tells_the_same_events_in_the_same_order(compared):
    real, standin = compared
    assert standin.events == real.events


def test_each_endpoint_answers_the_same_over_time(compared):
    real, standin = compared
    assert standin.statuses == real.statuses


def test_server_info_says_the_same(compared):
    real, standin = compared
    assert {name: standin.server_info.get(name) for name in FIELDS} == {
        name: real.server_info.get(name) for name in FIELDS
    }


def test_server_info_has_the_same_fields(compared):
    real, standin = compared
    assert set(standin.server_info) == set(real.server_info)


def test_the_scheduler_tells_the_same_fields(compared):
    (real,), (standin,) = (shown.server_info["internal_states"] for shown in compared)
    assert set(standin) == set(real)
    assert set(standin["memory_usage"]) == set(real["memory_usage"])
    assert set(standin["startup_time"]) == set(real["startup_time"])


def test_an_answer_has_the_same_fields(compared):
    real, standin = compared
    assert set(standin.meta_info) == set(real.meta_info)


def test_the_same_speculation_is_measured(compared):
    real, standin = compared
    assert standin.metrics == real.metrics
