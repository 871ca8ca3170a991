from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import service
from ansible_collections.llmops.sglang.plugins.module_utils.restart_decision import restart_reason


def instance(active_state="active", main_pid=7):
    shown = "LoadState=loaded\nActiveState=%s\nMainPID=%d\nSubState=sub\n" % (active_state, main_pid)
    return service.parse_show("sglang.service", shown)


def test_the_same_unit_started_after_it_was_written_needs_nothing():
    assert restart_reason(instance(), "abc", "abc", unit_modified_at=100.0, started_at=101.0) == ""


@pytest.mark.parametrize("state", ["inactive", "failed", "deactivating"])
def test_a_service_that_does_not_run_is_started(state):
    assert state in restart_reason(instance(state), "abc", "abc", 100.0, 101.0)


def test_an_instance_of_another_unit_is_restarted():
    assert "another unit" in restart_reason(instance(), "abc", "def", 100.0, 101.0)


def test_an_instance_of_a_foreign_unit_is_restarted_on_ours():
    assert "did not write" in restart_reason(instance(), "abc", "", 100.0, 101.0)


def test_a_unit_written_after_the_start_is_restarted_although_the_fingerprints_agree():
    assert "after the running instance" in restart_reason(instance(), "abc", "abc", 200.0, 101.0)


def test_a_restored_foreign_unit_that_runs_already_needs_nothing():
    assert restart_reason(instance(), "", "", 100.0, 101.0) == ""


def test_a_service_that_waits_for_its_next_try_is_restarted_although_the_units_agree():
    waiting = instance("activating", main_pid=0)
    assert "no running process" in restart_reason(waiting, "", "", unit_modified_at=100.0, started_at=100.0)


@pytest.mark.parametrize("running", ["abc", "def", ""])
def test_a_part_written_after_the_start_is_named(running):
    parts = {"the drop-in /a.conf": 100.0, "the file /b.yaml": 200.0}
    reason = restart_reason(instance(), "abc", running, 100.0, 101.0, parts)
    assert reason == "the file /b.yaml was written after the running instance had started"


def test_parts_that_are_older_than_the_instance_need_nothing():
    assert restart_reason(instance(), "abc", "abc", 100.0, 101.0, {"the drop-in /a.conf": 102.0}) == ""
