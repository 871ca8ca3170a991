# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what a server has room for, from its ``/server_info``. Speculation takes memory from it."""

from __future__ import annotations


def capacity(server_info):
    """``kv_tokens`` and ``running_requests``, each ``None`` where the server does not say it.

    The effective limit of requests stands in ``internal_states``, once for each data-parallel rank.
    """
    states = server_info.get("internal_states")
    states = [state for state in states if isinstance(state, dict)] if isinstance(states, list) else []
    limits = [_whole_number(state.get("effective_max_running_requests_per_dp")) for state in states]
    known = [limit for limit in limits if limit is not None]
    return {
        "kv_tokens": _whole_number(server_info.get("max_total_num_tokens")),
        "running_requests": sum(known) if known else _whole_number(server_info.get("max_running_requests")),
    }


def _whole_number(value):
    return value if isinstance(value, int) and not isinstance(value, bool) else None
