# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.release import find_release
from ansible_collections.llmops.sglang.tests.unit.starts import banner_text, facts_of, log_line


def facts(version="0.5.12", **changes):
    return facts_of([log_line(banner_text(version, **changes))])


def test_the_banner_tells_the_release():
    found = find_release(facts("0.5.12"))
    assert found.summary() == {
        "version": "0.5.12",
        "at_least": "0.5.12",
        "at_most": "0.5.12",
        "how": "the 381 fields of the server_args line",
    }


def test_a_given_version_is_taken_when_the_banner_agrees():
    found = find_release(facts("0.5.12"), {"version": "0.5.12.post1", "how": "the option sglang_version"})
    assert found.version == "0.5.12.post1"
    assert found.how == "the option sglang_version"
    assert found.dialect.version == "0.5.12"


def test_the_running_server_wins_over_a_version_that_contradicts_it():
    found = find_release(facts("0.5.12"), {"version": "0.5.23", "how": "the virtual environment"})
    assert found.version == "0.5.12"
    assert "the virtual environment says 0.5.23" in found.how


def test_the_servers_own_answer_wins():
    assert find_release(facts("0.5.12"), "0.5.23", {"version": "0.5.12.post2"}).version == "0.5.12.post2"


@pytest.mark.parametrize("given", [None, "", "main", {"version": ""}, {}])
def test_without_any_sign_the_release_is_unknown(given):
    found = find_release(facts_of([]), given)
    assert found.summary()["version"] == ""
    assert found.label == "SGLang of an unknown release"
    assert not found.discriminates("mamba_strategy")
    assert found.discriminates("draft_model")


def test_a_later_release_is_named_by_its_lower_limit():
    found = find_release(facts("0.5.23", a_new_field="1"))
    assert (found.version, found.label) == ("", "SGLang 0.5.23 or later")
    assert found.summary()["at_least"] == "0.5.23"
    assert found.summary()["at_most"] == ""


def test_a_range_discriminates_only_where_all_of_it_does():
    found = find_release(facts_of([log_line("server_args=ServerArgs(model_path='x', speculative_algorithm='EAGLE')")]))
    assert found.label == "SGLang 0.4.6 to 0.5.18"
    assert not found.discriminates("disable_overlap_schedule")
