# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.expectations import ExpectationError, Expectations
from ansible_collections.llmops.sglang.tests.unit.starts import REFERENCE


def test_the_reference_deployment():
    expectations = Expectations.from_options(REFERENCE)
    assert expectations.speculative_algorithm == ("NEXTN",)
    assert expectations.disable_overlap_schedule is False
    assert expectations.draft_ranks == 4
    assert expectations.draft_memory_gb == 1.91
    assert expectations.draft_memory_tolerance_gb == 0.25
    assert expectations.mem_fraction_tolerance == 0.005


def test_a_key_that_is_none_or_left_out_is_not_asserted():
    assert Expectations.from_options({"mamba_strategy": None}) == Expectations.from_options({}) == Expectations()
    assert not Expectations().draft_model


def test_several_names_may_be_accepted():
    assert Expectations.from_options({"speculative_algorithm": ["eagle", "EAGLE3"]}).speculative_algorithm == (
        "EAGLE",
        "EAGLE3",
    )


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("disable_overlap_schedule", "False", False),
        ("disable_overlap_schedule", "yes", True),
        ("draft_ranks", "4", 4),
        ("mem_fraction_static", "0.75", 0.75),
    ],
)
def test_values_may_come_as_text(key, written, value):
    assert getattr(Expectations.from_options({key: written}), key) == value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speculative_algoritm": "NEXTN"}, ["speculative_algoritm", "speculative_algorithm"]),
        ({"speculative_algorithm": ""}, ["expect.speculative_algorithm", "''"]),
        ({"speculative_algorithm": 5}, ["expect.speculative_algorithm", "5"]),
        ({"mamba_strategy": []}, ["expect.mamba_strategy", "[]"]),
        ({"disable_overlap_schedule": "maybe"}, ["expect.disable_overlap_schedule", "maybe", "true or false"]),
        ({"draft_ranks": 0}, ["expect.draft_ranks", "0", "1 or more"]),
        ({"draft_ranks": 1.5}, ["expect.draft_ranks", "1.5"]),
        ({"draft_ranks": True}, ["expect.draft_ranks", "True"]),
        ({"draft_memory_gb": -1}, ["expect.draft_memory_gb", "-1"]),
        ({"draft_memory_gb": "much"}, ["expect.draft_memory_gb", "much"]),
        ({"mem_fraction_static": 75}, ["expect.mem_fraction_static", "75", "at most 1"]),
        ({"mem_fraction_static": float("nan")}, ["expect.mem_fraction_static", "nan"]),
        ({"mem_fraction_tolerance": -0.1}, ["expect.mem_fraction_tolerance", "-0.1"]),
        ({"draft_memory_tolerance_gb": []}, ["expect.draft_memory_tolerance_gb", "[]"]),
        ([], ["expect", "dictionary"]),
    ],
)
def test_bad_input_gets_one_sentence(options, words):
    with pytest.raises(ExpectationError) as error:
        Expectations.from_options(options)
    sentence = str(error.value)
    assert all(word in sentence for word in words)
    assert sentence.endswith(".") and "\n" not in sentence
