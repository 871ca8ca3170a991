# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.capacity import capacity


def test_a_real_server_says_what_it_has_room_for(fixtures):
    info = json.loads((fixtures / "http" / "0.5.23-server_info.json").read_text())
    assert capacity(info) == {"kv_tokens": 20000, "running_requests": 48}


@pytest.mark.parametrize(
    "info, expected",
    [
        ({}, {"kv_tokens": None, "running_requests": None}),
        ({"max_total_num_tokens": True, "max_running_requests": "48"}, {"kv_tokens": None, "running_requests": None}),
        ({"max_total_num_tokens": 9, "max_running_requests": 48}, {"kv_tokens": 9, "running_requests": 48}),
        (
            {"max_running_requests": 100, "internal_states": [{"effective_max_running_requests_per_dp": 24}] * 2},
            {"kv_tokens": None, "running_requests": 48},
        ),
        ({"internal_states": [None, {}]}, {"kv_tokens": None, "running_requests": None}),
    ],
)
def test_the_effective_limit_counts_and_what_is_not_said_is_none(info, expected):
    assert capacity(info) == expected
