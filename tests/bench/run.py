# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast ``mtp_verify`` reads its evidence, beside the usual ways, on one machine in one run. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import journals

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CAPTURED = REPOSITORY / "tests/unit/fixtures/captured/0.5.23-realserver-nextn-tp2-keys.log"
CACHE = REPOSITORY / ".cache/bench"
BIG, SMALL = 2_000_000, 10_000
ROUNDS = 25
EXPECT = {
    "speculative_algorithm": "NEXTN",
    "disable_overlap_schedule": True,
    "draft_model_class": "Qwen3_5ForCausalLMMTP",
    "mem_fraction_static": 0.1,
}


class Table:
    """Rows of name, figure, ratio and limit. A ratio beyond its limit is remembered."""

    def __init__(self):
        self.rows = []
        self.misses = []

    def add(self, name, figure, ratio="", limit="", holds=True):
        self.rows.append((name, figure, ratio, limit))
        if not holds:
            self.misses.append("%s: %s, wanted %s" % (name, ratio or figure, limit))

    def __str__(self):
        rows = [("", "median", "ratio", "wanted"), *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a ratio is beyond its limit")
    parser.add_argument("--records", type=int, default=BIG, help="size of the big journal")
    options = parser.parse_args()
    print("Journals of %d and %d records, 10 instances each …" % (options.records, SMALL), flush=True)
    big = journals.make(CACHE, CAPTURED, options.records)
    small = journals.make(CACHE, CAPTURED, SMALL)
    table = Table()
    with tempfile.TemporaryDirectory() as workplace:
        runs = Runs(pathlib.Path(workplace), big)
        own = compare_journals(table, big, small)
        compare_with_grep(table, big, own)
        compare_with_ping(table, runs)
        measure_memory(table, runs)
    print(table)
    for miss in table.misses:
        print("BEYOND ITS LIMIT: " + miss)
    return 1 if options.check and table.misses else 0


def compare_journals(table, big, small):
    """The module's own work: choose, read and judge, with everything imported. Rounds go over all places in turn."""
    from ansible_collections.llmops.sglang.plugins.module_utils import verification

    places = [
        (name, instance, directory)
        for name, instance in (("oldest", 0), ("middle", 5), ("newest", 9))
        for directory in (big, small)
    ]
    seconds = {place: [] for place in places}
    for _round in range(ROUNDS):
        for place in places:
            _name, instance, directory = place
            begin = time.perf_counter()
            result = verification.verify(module_options(directory, instance), run_command)
            seconds[place].append(time.perf_counter() - begin)
            if result["verdict"] != "proven":
                sys.exit("What was to be measured does not work: %s" % result["reason"])
    medians = {place: statistics.median(values) for place, values in seconds.items()}
    for name, instance, _directory in places[::2]:
        of_big, of_small = medians[name, instance, big], medians[name, instance, small]
        ratio = of_big / of_small
        table.add("own work, %s instance, small journal" % name, milliseconds(of_small))
        table.add(
            "own work, %s instance, big journal" % name,
            milliseconds(of_big),
            "%.2f x" % ratio,
            "<= 1.3 x",
            ratio <= 1.3,
        )
    return max(medians[place] for place in places if place[2] == big)


def compare_with_grep(table, big, own):
    """The usual way, for one condition of the five."""
    usual = "journalctl --directory=%s --no-pager -u %s | grep -c speculative_algorithm" % (
        shlex.quote(str(big)),
        journals.UNIT,
    )
    begin = time.perf_counter()
    subprocess.run(usual, shell=True, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    ratio = seconds / own
    table.add("journalctl -u | grep, one condition", "%.1f s" % seconds, "%.0f x" % ratio, ">= 100 x", ratio >= 100)


def compare_with_ping(table, runs):
    """CPU of whole module runs, all children included: by Ansible, and of the program alone that it sends to a host."""
    for name, measure, limit in (
        ("whole run by Ansible", runs.run_by_ansible, 1.5),
        ("its program on the host alone", runs.run_alone, None),
    ):
        cpu = {module: [] for module in runs.modules}
        for _round in range(ROUNDS):
            for module, values in cpu.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                measure(module)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                values.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        ping, verify = (statistics.median(values) for values in cpu.values())
        ratio = verify / ping
        table.add("%s, ping" % name, milliseconds(ping) + " CPU")
        table.add(
            "%s, mtp_verify" % name,
            milliseconds(verify) + " CPU",
            "%.2f x" % ratio,
            "<= %.1f x" % limit if limit else "",
            limit is None or ratio <= limit,
        )


def measure_memory(table, runs):
    peak = runs.peak_mib()
    table.add("whole module, peak memory", "%.0f MiB" % peak, "", "< 80 MiB", peak < 80)


class Runs:
    """Runs of ``ansible.builtin.ping`` and of ``mtp_verify`` on this host."""

    def __init__(self, folder, journal):
        self._folder = folder
        arguments = {name: value for name, value in module_options(journal, 9).items() if value is not None}
        self.modules = {"ansible.builtin.ping": {}, "llmops.sglang.mtp_verify": arguments}
        self._programs = {module: self._keep(module) for module in self.modules}

    def run_by_ansible(self, module, **settings):
        command = [ansible(), "localhost", "-i", "localhost,", "-c", "local", "-m", module]
        command += ["-e", "ansible_python_interpreter=" + sys.executable]
        command += ["-a", json.dumps(self.modules[module])] if self.modules[module] else []
        settings["ANSIBLE_COLLECTIONS_PATH"] = str(collections_root())
        done = subprocess.run(command, env=dict(os.environ, **settings), capture_output=True, check=False, text=True)
        if done.returncode:
            sys.exit("%s does not run here: %s" % (module, done.stdout + done.stderr))

    def _keep(self, module):
        """The program that Ansible sends to a host."""
        kept = self._folder / module
        self.run_by_ansible(module, ANSIBLE_KEEP_REMOTE_FILES="1", ANSIBLE_REMOTE_TMP=str(kept), ANSIBLE_PIPELINING="0")
        return next(kept.rglob("AnsiballZ_*.py"))

    def run_alone(self, module):
        subprocess.run([sys.executable, str(self._programs[module])], check=True, stdout=subprocess.DEVNULL)

    def peak_mib(self):
        # A child's ru_maxrss counts what its parent had in memory, so a small process stands between.
        measured = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        )
        program = self._programs["llmops.sglang.mtp_verify"]
        command = [sys.executable, "-c", measured, sys.executable, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout) / 1024


def module_options(journal, instance):
    return {
        "unit": journals.UNIT,
        "invocation_id": journals.invocation_id(instance),
        "journal_directory": str(journal),
        "log_file": None,
        "follow": False,
        "timeout": 1800.0,
        "progress_timeout": 600.0,
        "sglang_version": None,
        "expect": EXPECT,
    }


def run_command(arguments):
    done = subprocess.run(arguments, capture_output=True, check=False, text=True)
    return done.returncode, done.stdout, done.stderr


def milliseconds(seconds):
    return "%.0f ms" % (seconds * 1000)


def ansible():
    beside = pathlib.Path(sys.executable).with_name("ansible")
    return str(beside) if beside.exists() else shutil.which("ansible") or sys.exit("ansible is not installed")


def collections_root():
    """The folder that holds ``ansible_collections`` with this collection in it."""
    for folder in pathlib.Path(__file__).resolve().parents:
        if folder.name == "ansible_collections":
            return folder.parent
    return REPOSITORY / ".build/collections"


if __name__ == "__main__":
    sys.path.insert(0, str(collections_root()))
    sys.exit(main())
