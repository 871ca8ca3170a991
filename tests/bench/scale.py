# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller CPU per host of a whole rollout, for fleets of several sizes, with local connections and scripted nodes.

    .venv/bin/python tests/bench/scale.py [--check] [HOSTS ...]

Prints a table. ``--check`` fails when the largest fleet costs more than 1.2 times the CPU per host of the smallest.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import pathlib
import resource
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "batches"))

from scripted_fleet import Fleet, lay_out_scripted

LIMIT = 1.2


def measure(collections, hosts):
    """Seconds of CPU (all children), of wall time, and peak MiB of the largest process, for one rollout."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(pathlib.Path(folder), collections)
        for number in range(hosts):
            fleet.add("gpu%03d" % number)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        with contextlib.redirect_stdout(io.StringIO()):
            run = fleet.run("deploy_mtp", limit_seconds=60 + 20 * hosts)
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.exit_code != 0:
        raise SystemExit("The rollout over %d hosts failed:\n%s" % (hosts, run.output[-2000:]))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, after.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when the cost per host grows")
    parser.add_argument("hosts", nargs="*", type=int, default=[10, 50, 200])
    arguments = parser.parse_args()
    per_host = {}
    with tempfile.TemporaryDirectory() as folder:
        collections = lay_out_scripted(pathlib.Path(folder))
        print("hosts  cpu s  cpu s/host  wall s  peak MiB")
        for hosts in arguments.hosts:
            cpu, wall, peak = measure(collections, hosts)
            per_host[hosts] = cpu / hosts
            print("%5d  %5.0f  %10.2f  %6.0f  %8.0f" % (hosts, cpu, cpu / hosts, wall, peak), flush=True)
    ratio = per_host[max(per_host)] / per_host[min(per_host)]
    print("CPU per host, largest fleet against smallest: %.2f (wanted: at most %.1f)" % (ratio, LIMIT))
    return 1 if arguments.check and ratio > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
