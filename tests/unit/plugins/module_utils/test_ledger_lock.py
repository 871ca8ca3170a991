from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.ledger_lock import LedgerLock, LockedError


@pytest.fixture
def other_run():
    """A process that lives until the test ends, as another run of the playbook would."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def owner_file(tmp_path):
    return tmp_path / "lock.json"


def test_a_second_run_is_refused_while_the_first_lives(tmp_path, other_run):
    LedgerLock(str(tmp_path), other_run.pid).take("deploy-1")
    with pytest.raises(LockedError, match="deploy-1.*process %d" % other_run.pid):
        LedgerLock(str(tmp_path), os.getpid()).take("deploy-2")


def test_a_lock_that_was_released_is_free(tmp_path, other_run):
    first = LedgerLock(str(tmp_path), other_run.pid)
    first.take("deploy-1")
    first.release()
    assert LedgerLock(str(tmp_path), os.getpid()).take("deploy-2") == ""


def test_the_lock_of_a_dead_run_is_stale_and_taken_over(tmp_path, other_run):
    LedgerLock(str(tmp_path), other_run.pid).take("deploy-1")
    other_run.kill()
    other_run.wait()
    assert LedgerLock(str(tmp_path), os.getpid()).take("deploy-2") == "deploy-1"


def test_a_process_number_that_was_used_again_is_no_owner(tmp_path):
    lock = {"pid": os.getppid(), "started": 1, "machine": socket.gethostname(), "rollout": "deploy-1"}
    owner_file(tmp_path).write_text(json.dumps(lock))
    assert LedgerLock(str(tmp_path), os.getpid()).take("deploy-2") == "deploy-1"


def test_a_run_on_another_machine_can_not_be_judged_and_is_respected(tmp_path):
    lock = {"pid": 1, "started": 1, "machine": "other-controller", "rollout": "deploy-1"}
    owner_file(tmp_path).write_text(json.dumps(lock))
    with pytest.raises(LockedError, match="other-controller.*remove"):
        LedgerLock(str(tmp_path), os.getpid()).take("deploy-2")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pid": "x"}'])
def test_a_broken_lock_is_stale(tmp_path, content):
    owner_file(tmp_path).write_text(content)
    lock = LedgerLock(str(tmp_path), os.getpid())
    lock.take("deploy-2")
    assert json.loads(owner_file(tmp_path).read_text())["rollout"] == "deploy-2"


def test_releasing_leaves_another_runs_lock_alone(tmp_path, other_run):
    LedgerLock(str(tmp_path), other_run.pid).take("deploy-1")
    LedgerLock(str(tmp_path), os.getpid()).release()
    assert owner_file(tmp_path).exists()


def test_no_other_file_is_left(tmp_path):
    LedgerLock(str(tmp_path), os.getpid()).take("deploy-1")
    assert os.listdir(tmp_path) == ["lock.json"]
