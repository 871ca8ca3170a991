from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import diagnosis, start_attempts
from ansible_collections.llmops.sglang.plugins.module_utils.start_attempts import may_start_again


def failure(*codes):
    return {"msg": "It died.", "diagnosis": [{"code": code, "summary": "", "remedy": ""} for code in codes]}


def test_a_death_without_a_lasting_cause_is_worth_another_start():
    assert may_start_again(failure("scheduler_exception"), 1, 2)
    assert may_start_again(failure("child_died", "environment_without_effect"), 1, 2)


def test_the_attempts_are_counted():
    assert not may_start_again(failure("scheduler_exception"), 2, 2)
    assert not may_start_again(failure("scheduler_exception"), 1, 1)


@pytest.mark.parametrize("code", ["draft_path_missing", "flag_unknown", "out_of_memory", "port_in_use"])
def test_a_lasting_cause_is_not_tried_again(code):
    assert not may_start_again(failure(code), 1, 2)
    assert not may_start_again(failure("scheduler_exception", code), 1, 2)


def test_a_server_that_lives_and_is_refuted_is_not_started_again():
    assert not may_start_again({"msg": "No draft was accepted."}, 1, 2)
    assert not may_start_again(failure(), 1, 2)


def test_every_code_is_one_that_a_diagnosis_can_have():
    assert set(diagnosis.CODES) >= start_attempts.FLAKY | start_attempts.REMARKS
