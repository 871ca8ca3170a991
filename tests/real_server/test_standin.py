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
# The same of its internal_states.
STATE_FIELDS = (
    "effective_max_running_requests_per_dp",
    "avg_spec_accept_length",
    "memory_usage",
    "last_gen_throughput",
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
    assert _of_the_scheduler(standin.server_info) == _of_the_scheduler(real.server_info)


def test_an_answer_has_the_same_fields(compared):
    """All that the stand-in tells, and all that there is of speculation. The real server tells more times."""
    real, standin = compared
    assert set(standin.meta_info) <= set(real.meta_info)
    assert _of_speculation(standin.meta_info) == _of_speculation(real.meta_info)


def test_the_same_speculation_is_measured(compared):
    real, standin = compared
    assert standin.metrics == real.metrics


def _of_the_scheduler(server_info):
    """Which of the fields that are read are there: one of them comes with speculation only."""
    return {name for name in STATE_FIELDS if name in server_info["internal_states"][0]}


def _of_speculation(meta_info):
    return {name for name in meta_info if name.startswith("spec_")}
