# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.router_capacity import lacks_model, left_unserved
from ansible_collections.llmops.sglang.plugins.module_utils.router_dialects import Worker


def worker(*models, healthy=True, worker_type="regular"):
    return Worker("http://w", healthy=healthy, models=frozenset(models), worker_type=worker_type)


@pytest.mark.parametrize(
    ("leaving", "others", "unserved"),
    [
        (worker("m"), [worker("m")], []),
        (worker("m"), [], ["m"]),
        (worker("m"), [worker("m", healthy=False)], ["m"]),
        (worker("m"), [worker("other")], ["m"]),
        (worker("m", "adapter"), [worker("m")], ["adapter"]),
        (worker("m"), [worker()], []),
        (worker(), [worker("m")], []),
        (worker(), [], ["any model"]),
        (worker("m", healthy=False), [], []),
        (worker("m", healthy=None), [worker(healthy=None)], []),
        (worker(healthy=None), [], ["any model"]),
        (worker("m", worker_type="prefill"), [worker("m", worker_type="decode")], ["m (prefill)"]),
        (worker("m", worker_type="prefill"), [worker("m", worker_type="prefill")], []),
    ],
)
def test_what_nobody_else_serves(leaving, others, unserved):
    assert left_unserved(leaving, others) == unserved


@pytest.mark.parametrize(
    ("listed", "others", "lacks"),
    [
        (worker("m"), [], False),
        (worker(), [], True),
        (worker(), [worker("m")], True),
        (worker(), [worker()], False),
        (worker(healthy=None), [], False),
    ],
)
def test_a_worker_without_a_model_was_not_asked_unless_the_router_asks_nobody(listed, others, lacks):
    assert lacks_model(listed, others) is lacks
