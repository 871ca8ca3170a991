# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.acceptance import Acceptance

# What meta_info of /generate holds, by release, for one and the same answer.
BY_RELEASE = {
    "0.5.3": {"spec_verify_ct": 25},
    "0.5.5": {"spec_verify_ct": 25, "spec_accept_rate": 0.52, "spec_accept_length": 2.56},
    "0.5.9": {"spec_verify_ct": 25, "spec_accept_token_num": 39, "spec_draft_token_num": 75},
    "0.5.11": {"spec_verify_ct": 25, "spec_accepted_drafts": 39, "spec_proposed_drafts": 75},
    "0.5.12": {
        "spec_verify_ct": 25,
        "spec_num_correct_drafts": 39,
        "spec_num_proposed_drafts": 75,
        "spec_accepted_drafts": 39,
        "spec_proposed_drafts": 75,
    },
    "0.5.23": {
        "spec_accept_rate": 0.52,
        "spec_accept_length": 2.56,
        "spec_num_correct_drafts": 39,
        "spec_num_proposed_drafts": 75,
        "spec_verify_ct": 25,
        "spec_correct_drafts_histogram": [7, 6, 3, 9],
    },
}
COUNTING = ("0.5.9", "0.5.11", "0.5.12", "0.5.23")


@pytest.mark.parametrize("release", BY_RELEASE)
def test_every_release_tells_its_accept_length(release):
    found = acceptance.of_request(dict(BY_RELEASE[release], completion_tokens=64))
    assert found.length == 2.56
    assert (found.correct, found.proposed) == ((39, 75) if release in COUNTING else (None, None))


@pytest.mark.parametrize(
    "meta_info",
    [
        {},
        {"completion_tokens": 64},
        {"completion_tokens": 1, "spec_verify_ct": 0},
        {"completion_tokens": 64, "spec_verify_ct": -1},
        {"completion_tokens": 64, "spec_verify_ct": "25"},
        {"completion_tokens": None, "spec_verify_ct": 25},
        {"completion_tokens": True, "spec_verify_ct": True},
    ],
)
def test_without_verify_steps_there_is_no_figure(meta_info):
    assert acceptance.of_request(meta_info) is None


def test_counts_that_are_none_fall_back_to_the_length():
    strange = {
        "completion_tokens": 10,
        "spec_verify_ct": 5,
        "spec_num_correct_drafts": "x",
        "spec_num_proposed_drafts": 0,
    }
    assert acceptance.of_request(strange) == Acceptance(10, 5)


def test_requests_are_added_up():
    assert acceptance.total([Acceptance(64, 16, 48, 48), None, Acceptance(64, 63, 0, 189)]) == Acceptance(
        128, 79, 48, 237
    )
    assert acceptance.total([Acceptance(64, 16, 48, 48), Acceptance(64, 63)]) == Acceptance(128, 79)
    assert acceptance.total([None, None]) is None


def test_the_length_counts_the_token_of_the_prefill():
    assert round(Acceptance(64, 63, 0, 189).length, 3) == 1.016


def test_the_servers_average_is_read_in_both_places(fixtures):
    real = json.loads((fixtures / "http" / "0.5.23-server_info.json").read_text())
    assert acceptance.average_of_server(real) == 2.2857
    assert acceptance.average_of_server({"avg_spec_accept_length": 2.5}) == 2.5
    ranks = [{"avg_spec_accept_length": 2.0}, {}, None, {"avg_spec_accept_length": 3.0}]
    assert acceptance.average_of_server({"internal_states": ranks}) == 2.5


@pytest.mark.parametrize(
    "info", [{}, {"internal_states": None}, {"avg_spec_accept_length": "x"}, {"internal_states": [1]}]
)
def test_a_server_that_gives_no_average_gives_none(info):
    assert acceptance.average_of_server(info) is None


def test_the_gauge_of_a_real_server_is_read(fixtures):
    text = (fixtures / "http" / "0.5.23-realserver-nextn-metrics.txt").read_text()
    assert acceptance.of_metrics(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        'sglang:spec_accept_length{tp_rank="0"} 0.0',
        'sglang:spec_accept_length{tp_rank="0"} NaN',
        "# sglang:spec_accept_length 3.0",
        "sglang:spec_accept_rate 0.5",
        "sglang:spec_accept_length 1.2.3",
    ],
)
def test_a_gauge_without_speculation_is_none(text):
    assert acceptance.of_metrics(text) is None
