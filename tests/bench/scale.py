# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host costs the controller: our deployment beside the same in ansible.builtin, for fleets of several sizes.

    .venv/bin/python tests/bench/scale.py [--check] [HOSTS ...]

The hosts are local connections to a fleet that one process models (double/); the modules are the real ones.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from double.host_folders import lay_out

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
BATCHES = [1, "10%", "50%", "100%"]
SOAK_SECONDS = 5
# The judgement alone costs each host of a larger fleet the same: only the start of Ansible itself weighs less.
LARGEST_JUDGED = 50
LARGEST_GROWTH = 1.2
LARGEST_SHARE = 0.5
OURS, BUILTIN = "deploy_mtp", "builtin rollout"
OUR_JUDGEMENT, BUILTIN_JUDGEMENT = "same job, collection", "same job, builtin"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Seconds of CPU and of wall time for one run. ``modules`` is the part of ``cpu`` that a host's Python took."""

    hosts: int
    cpu: float
    modules: float
    wall: float
    peak_mib: float

    @property
    def controller(self):
        """CPU for one host without that of the modules, which over SSH the host itself would spend."""
        return (self.cpu - self.modules) / self.hosts

    @property
    def all(self):
        """CPU for one host, with that of the modules."""
        return self.cpu / self.hosts

    def cells(self):
        return "%10.2f  %9.2f  %6.0f  %8.0f" % (self.controller, self.all, self.wall, self.peak_mib)


class Fleet:
    """Hosts that one process models, all with an old server running. A context manager."""

    def __init__(self, size, load_seconds, forks):
        self._size = size
        self._load_seconds = load_seconds
        self._forks = forks
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fleet-")))
        self._folder = folder
        self._inventory = lay_out(folder, self._size)
        double = subprocess.Popen(
            [sys.executable, "-m", "double", str(folder), str(self._load_seconds)],
            cwd=HERE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(double.wait)
        self._stack.callback(double.kill)
        if double.stdout.readline() != "ready\n":
            raise SystemExit("The fleet double did not start.")
        return self

    def __exit__(self, *exception):
        self._stack.close()

    def play(self, playbook, *options):
        """The :class:`Cost` of one run of a playbook."""
        variables = {"mtp_batches": BATCHES, "mtp_soak_seconds": SOAK_SECONDS, "ansible_become": False}
        command = ["ansible-playbook", "-i", str(self._inventory), str(playbook), "-e", json.dumps(variables), *options]
        modules, start = self._module_seconds(), time.monotonic()
        with open(self._folder / "output", "w+") as output:
            run = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            # Of this child and all that it has waited for; the double is none of them.
            _pid, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            wall = time.monotonic() - start
            if run.returncode:
                output.seek(0)
                raise SystemExit("%s failed:\n%s" % (playbook.name, output.read()[-4000:]))
        return Cost(
            self._size,
            used.ru_utime + used.ru_stime,
            self._module_seconds() - modules,
            wall,
            used.ru_maxrss / 1024,
        )

    def restart(self):
        """Start all servers anew, from the unit that they have; they load from now on."""
        for host in (self._folder / "hosts").iterdir():
            subprocess.run([str(host / "bin" / "systemctl"), "restart", "sglang.service"], check=True)

    def _module_seconds(self):
        notes = (self._folder / "hosts").glob("*/cpu")
        return sum(float(line) for note in notes for line in note.read_text().split())

    def _environment(self):
        return dict(
            os.environ,
            PATH="%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"]),
            ANSIBLE_COLLECTIONS_PATH=str(collections_root()),
            ANSIBLE_CONFIG=str(CHECKOUT / "ansible.cfg"),
            # The file has it for SSH alone.
            ANSIBLE_PIPELINING="1",
            ANSIBLE_NOCOLOR="1",
            ANSIBLE_FORKS=str(self._forks),
        )


def collections_root():
    """The folder that holds ``ansible_collections`` with this collection in it."""
    asked = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(":")[0]
    return asked or CHECKOUT / ".build/collections"


def measure(size, load_seconds, forks):
    """Yield the name and the cost of each run.

    Each deployment begins with old servers. What is judged are new ones, which begin to load.
    """
    with Fleet(size, load_seconds, forks) as fleet:
        yield BUILTIN, fleet.play(HERE / "builtin_rollout.yml")
    with Fleet(size, load_seconds, forks) as fleet:
        yield OURS, fleet.play(CHECKOUT / "playbooks" / "deploy_mtp.yml")
        if size <= LARGEST_JUDGED:
            fleet.restart()
            yield BUILTIN_JUDGEMENT, fleet.play(HERE / "builtin_rollout.yml", "--tags", "judge")
            fleet.restart()
            yield OUR_JUDGEMENT, fleet.play(HERE / "same_job.yml")


def ratios(costs):
    """``(what, ratio of controllers, ratio with modules, limit or None)``.

    :arg costs: the costs by size, then by name; without the judgement where the fleet was too large for it.
    """
    small, large = min(costs), max(costs)
    yield compare("deploy_mtp, %d hosts to %d" % (large, small), costs[large][OURS], costs[small][OURS], LARGEST_GROWTH)
    yield compare("builtin rollout, %d hosts to %d" % (large, small), costs[large][BUILTIN], costs[small][BUILTIN])
    for size in sorted(size for size in costs if size <= LARGEST_JUDGED)[-1:]:
        ours, theirs = costs[size][OUR_JUDGEMENT], costs[size][BUILTIN_JUDGEMENT]
        yield compare("same job, ours to builtin, %d hosts" % size, ours, theirs, LARGEST_SHARE)
    yield compare("whole rollout, ours to builtin, %d hosts" % large, costs[large][OURS], costs[large][BUILTIN])


def compare(what, one, other, limit=None):
    return what, one.controller / other.controller, one.all / other.all, limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 when a ratio is beyond its limit")
    parser.add_argument("--load-seconds", type=float, default=20, help="how long a server loads")
    parser.add_argument("--forks", type=int, default=50)
    parser.add_argument("hosts", nargs="*", type=int, default=[10, 50, 200])
    arguments = parser.parse_args()
    costs = {}
    print("%5s  %-21s  controller  + modules  wall s  peak MiB" % ("hosts", "CPU s for each host"))
    for size in arguments.hosts:
        costs[size] = {}
        for name, cost in measure(size, arguments.load_seconds, arguments.forks):
            costs[size][name] = cost
            print("%5d  %-21s  %s" % (size, name, cost.cells()), flush=True)
    good = True
    print("%-48s  controller  + modules" % "Ratio of CPU for each host")
    for what, controller, with_modules, limit in ratios(costs):
        good = good and (limit is None or max(controller, with_modules) <= limit)
        print("%-48s  %10.2f  %9.2f%s" % (what, controller, with_modules, "  <= %.1f" % limit if limit else ""))
    return 1 if arguments.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
