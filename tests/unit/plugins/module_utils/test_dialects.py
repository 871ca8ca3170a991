# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import banner, dialects
from ansible_collections.llmops.sglang.tests.unit.starts import banner_text

ALL_FIVE = {
    "speculative_algorithm",
    "mamba_strategy",
    "disable_overlap_schedule",
    "draft_model",
    "mem_fraction_static",
}


def fields_of(version, case="nextn", **changes):
    return banner.parse(banner_text(version, case, **changes).partition("server_args=")[2])


@pytest.mark.parametrize("version", ["0.5.9", "0.5.10", "0.5.12", "0.5.14", "0.5.18", "0.5.19", "0.5.23"])
def test_a_whole_banner_tells_its_release(version):
    oldest, newest, _how = dialects.range_of(fields_of(version))
    assert oldest is newest
    assert newest.version == version
    assert len(fields_of(version).raw) == newest.fields


@pytest.mark.parametrize(
    ("text", "oldest", "newest"),
    [
        ("ServerArgs(speculative_algorithm='EAGLE', mamba_scheduler_strategy='extra_buffer')", "0.5.7", "0.5.13"),
        ("ServerArgs(speculative_algorithm='EAGLE', mamba_radix_cache_strategy='extra_buffer')", "0.5.14", "0.5.18"),
        ("{'speculative_algorithm': 'EAGLE'}", "0.5.19", "0.5.23"),
        ("ServerArgs(speculative_algorithm='EAGLE')", "0.4.6", "0.5.18"),
        ("ServerArgs(mamba_scheduler_strategy='x', admin_api_key=None)", "0.5.8", "0.5.13"),
    ],
)
def test_a_part_of_a_banner_tells_a_range(text, oldest, newest):
    rows = dialects.range_of(banner.parse(text))[:2]
    assert [row.version for row in rows] == [oldest, newest]


def test_a_banner_with_more_fields_than_known_is_of_the_newest_row():
    assert dialects.range_of(fields_of("0.5.23", new_field="1"))[1] is dialects.NEWEST


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.4.6", None),
        ("0.5.6", None),
        ("0.5.7", "--mamba-scheduler-strategy"),
        ("0.5.12.post1", "--mamba-scheduler-strategy"),
        ("0.5.13", "--mamba-scheduler-strategy"),
        ("0.5.14", "--mamba-radix-cache-strategy"),
        ("0.5.23", "--mamba-radix-cache-strategy"),
        ("0.6.0", "--mamba-radix-cache-strategy"),
        ("", "--mamba-radix-cache-strategy"),
        ("0.1", None),
    ],
)
def test_the_flag_for_the_mamba_strategy(version, flag):
    assert dialects.mamba_strategy_flag(version) == flag


@pytest.mark.parametrize("version", ["0.5.4", "0.5.9", "0.5.10"])
def test_releases_that_need_the_variable_for_spec_v2(version):
    assert dialects.spec_v2_environment(version) == {"SGLANG_ENABLE_SPEC_V2": "1"}


@pytest.mark.parametrize("version", ["0.5.3", "0.5.11", "0.5.13", "0.5.14", "0.5.23", ""])
def test_releases_that_do_not(version):
    assert dialects.spec_v2_environment(version) == {}


@pytest.mark.parametrize(
    ("version", "conditions"),
    [
        ("0.4.6", {"speculative_algorithm", "draft_model"}),
        ("0.5.6", {"speculative_algorithm", "draft_model", "mem_fraction_static"}),
        ("0.5.9", ALL_FIVE),
        ("0.5.13", ALL_FIVE),
        ("0.5.14", {"speculative_algorithm", "draft_model"}),
        ("0.5.23", {"speculative_algorithm", "draft_model"}),
    ],
)
def test_which_conditions_tell_speculation_from_none(version, conditions):
    assert dialects.dialect_of(version).discriminating == conditions


def test_the_table_is_in_order_and_its_markers_are_its_own():
    releases = [row.since for row in dialects.DIALECTS]
    assert releases == sorted(set(releases))
    assert len({row.marker for row in dialects.DIALECTS}) == len(dialects.DIALECTS)
    assert [row.fields for row in dialects.DIALECTS] == sorted(row.fields for row in dialects.DIALECTS)


@pytest.mark.parametrize(
    ("asked", "printed"),
    [
        ("NEXTN", "EAGLE"),
        ("nextn", "EAGLE"),
        ("EAGLE3", "EAGLE3"),
        ("", None),
        (None, None),
        ("my_plugin", "MY_PLUGIN"),
    ],
)
def test_aliases_of_algorithms(asked, printed):
    assert dialects.resolved_algorithm(asked) == printed


@pytest.mark.parametrize(
    ("target", "version", "model_class"),
    [
        ("Qwen3_5MoeForConditionalGeneration", "0.5.12", "Qwen3_5ForCausalLMMTP"),
        ("Qwen3_5MoeForConditionalGeneration", "0.5.8", None),
        ("DeepseekV3ForCausalLM", "0.4.6", "DeepseekV3ForCausalLMNextN"),
        ("DeepseekV4ForCausalLM", "0.5.23", "DeepseekV4ForCausalLMNextN"),
        ("Glm4MoeLiteForCausalLM", "0.5.23", "Glm4MoeLiteForCausalLMNextN"),
        ("Glm4MoeForCausalLM", "0.5.23", "Glm4MoeForCausalLMNextN"),
        ("Qwen3NextForCausalLM", None, "Qwen3NextForCausalLMMTP"),
        ("LlamaForCausalLM", "0.5.23", None),
    ],
)
def test_the_draft_class_of_a_target(target, version, model_class):
    assert dialects.draft_class(target, version) == model_class
    assert model_class is None or dialects.is_draft_class(model_class)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.5.12", (0, 5, 12)),
        ("v0.5.12.post1", (0, 5, 12)),
        ("0.6", (0, 6, 0)),
        ("0.5.24rc1", (0, 5, 24)),
        ("main", None),
    ],
)
def test_versions_are_read(text, release):
    assert dialects.release_of(text) == release
