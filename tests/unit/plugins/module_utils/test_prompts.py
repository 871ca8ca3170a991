# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import prompts


@pytest.mark.parametrize("requests", range(2, 20))
def test_a_plan_has_as_many_requests_as_asked_for(requests):
    rounds = prompts.plan(requests)
    assert sum(len(round_) for round_ in rounds) == requests
    assert all(rounds)


def test_the_same_prompt_goes_alone_first_and_last():
    first, between, last = prompts.plan(6)
    assert first == last
    assert len(first) == 1
    assert first[0] not in between


def test_two_requests_are_the_same_prompt_twice():
    first, last = prompts.plan(2)
    assert first == last


def test_the_default_plan_has_different_prompts_a_long_one_and_some_to_compare():
    _first, between, _last = prompts.plan(6)
    assert len({prompt.text for prompt in between}) == 4
    assert max(len(prompt.text.split()) for prompt in between) > 200
    assert sum(prompt.settled for prompt in between) >= 2


def test_every_prompt_fits_into_a_small_context_even_byte_by_byte():
    for prompt in (prompts.COPY, *prompts.OTHERS):
        assert len(prompt.text.encode()) + 128 < 2048, prompt.name


def test_names_tell_prompts_apart():
    names = [prompt.name for prompt in (prompts.COPY, *prompts.OTHERS)]
    assert len(set(names)) == len(names)
