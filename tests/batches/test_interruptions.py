"""A run that is killed before any of its tasks: the next run ends all proven, or all on the old server."""

from __future__ import annotations

import concurrent.futures
import pathlib

import pytest
from modelled_fleet import ModelledFleet
from scripted_fleet import lay_out

HERE = pathlib.Path(__file__).resolve().parent
MODELLED = ("mtp_preflight", "mtp_verify", "server_ready", "mtp_prove", "mtp_soak", "router_worker")
# What changes a host, a router or the ledger.
CHANGING = ("service_unit", "service_restart", "router_worker", "rollout_gate", "rollout_report")
# Two at a time: a run waits a little for its own children, and a test machine has two cores or more.
LANES = 2


@pytest.fixture(scope="session")
def modelled_collections(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("modelled"), MODELLED, (HERE / "model_module.py").read_text())


@pytest.fixture
def fleets(tmp_path, modelled_collections):
    """A function that makes as many equal fleets as there are lanes."""
    made = []

    def fleets(names, refusing=()):
        for lane in range(LANES):
            folder = tmp_path / ("lane%d" % lane)
            folder.mkdir()
            made.append(ModelledFleet(folder, modelled_collections, names, refusing))
        return made

    yield fleets
    for fleet in made:
        fleet.kill()


def test_a_rollout_killed_before_any_task_is_finished_by_the_next(fleets):
    lanes = fleets(["gpu01", "gpu02"])
    exit_code, output, tasks = undisturbed(lanes[0])
    assert exit_code == 0, output
    assert lanes[0].states() == {"gpu01": "new", "gpu02": "new"}
    wrong = after_each_kill(lanes, boundaries(tasks), 0, {"gpu01": "new", "gpu02": "new"})
    assert wrong == {}


def test_a_rollout_without_proof_killed_before_any_task_ends_on_the_old_server(fleets):
    lanes = fleets(["gpu01"], refusing=["gpu01"])
    exit_code, output, tasks = undisturbed(lanes[0])
    assert exit_code == 2, output
    assert lanes[0].states() == {"gpu01": "old"}
    # The next run asks for another unit: the one without proof, which it finds, must not become the way back.
    wrong = after_each_kill(lanes, boundaries(tasks), 2, {"gpu01": "old"}, mtp_server_args=["--log-level", "debug"])
    assert wrong == {}


def undisturbed(fleet):
    fleet.start_over()
    return fleet.deploy()


def boundaries(tasks):
    """``{number: task}`` of the tasks to kill the run before: each one that changes something, and every twentieth.

    What lies between two that change something only reads: a kill before any of it leaves what a kill before the later
    of the two leaves. Number 1 is the first task of a run.
    """
    return {
        number: " ".join((action, name))
        for number, (action, name) in enumerate(tasks, 1)
        if action in CHANGING or number % 20 == 0
    }


def after_each_kill(lanes, chosen, exit_code, states, **variables):
    """Kill a run at each boundary and run again with ``variables``; what ended otherwise than asked, by boundary."""
    numbers = list(chosen)
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        parts = pool.map(
            lambda lane: [
                (number, kill_and_run_again(lanes[lane], number, variables)) for number in numbers[lane :: len(lanes)]
            ],
            range(len(lanes)),
        )
    ended = dict(end for part in parts for end in part)
    assert sorted(ended) == numbers
    return {"%d: %s" % (n, chosen[n]): ended[n] for n in numbers if ended[n] != (exit_code, states)}


def kill_and_run_again(fleet, number, variables):
    """``(exit code, states)`` of the second run."""
    fleet.start_over()
    killed, output, tasks = fleet.deploy(kill_at=number)
    assert (killed, len(tasks)) == (-9, number - 1), output
    return fleet.deploy(**variables)[0], fleet.states()
