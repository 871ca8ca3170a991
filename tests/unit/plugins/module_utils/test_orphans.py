# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import orphans
from ansible_collections.llmops.sglang.plugins.module_utils.listener import ListeningSocket

UNIT = "sglang.service"
GROUP = "/system.slice/sglang.service"
SESSION = "/user.slice/session-1.scope"
TICKS = os.sysconf("SC_CLK_TCK")
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
# Port 30000 on 127.0.0.1 and on 10.0.0.5, as Linux prints them on a little-endian machine; 0A is LISTEN.
LINE = "   0: %s:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n"
LOOPBACK, PRIVATE = "0100007F", "0500000A"


class Proc:
    """A procfs of a test's own."""

    def __init__(self, root):
        self.root = root
        (root / "net").mkdir()
        (root / "stat").write_text("cpu 1 2\nbtime 1772366400\n")
        self.listen()

    def __str__(self):
        return str(self.root)

    def listen(self, *sockets):
        (self.root / "net" / "tcp").write_text(HEAD + "".join(LINE % socket for socket in sockets))

    def process(self, pid, start_seconds=50, sockets=(), group=GROUP, command="python -m sglang.launch_server"):
        folder = self.root / str(pid)
        (folder / "fd").mkdir(parents=True)
        for number, inode in enumerate(sockets):
            (folder / "fd" / str(number)).symlink_to("socket:[%d]" % inode)
        (folder / "stat").write_text("%d (python) S 1 %s%d 0 0\n" % (pid, "0 " * 17, start_seconds * TICKS))
        (folder / "cmdline").write_text(command.replace(" ", "\0") + "\0")
        (folder / "cgroup").write_text("0::%s\n" % group)

    def end(self, pid):
        shutil.rmtree(self.root / str(pid))


@pytest.fixture
def proc(tmp_path):
    return Proc(tmp_path)


def of_unit(proc):
    return orphans.UnitProcesses(str(proc)).look(GROUP)


def holders(proc, host="0.0.0.0", unit_processes=None):
    return orphans.port_holders(host, 30000, unit_processes or of_unit(proc), str(proc))


def test_a_free_port_has_no_holders(proc):
    proc.process(600)
    assert holders(proc) == []


def test_a_process_that_left_the_units_cgroup_is_known_as_its_orphan(proc):
    proc.process(600, sockets=[501])
    known = of_unit(proc)
    proc.end(600)
    proc.listen((LOOPBACK, 501))
    proc.process(600, sockets=[501], group=SESSION)
    (holder,) = holders(proc, unit_processes=known)
    assert (holder.pid, holder.of_unit) == (600, True)
    assert holder.sentence(UNIT) == (
        "Port 30000 is held by process 600 (python -m sglang.launch_server), started 2026-03-01T12:00:50Z, which was"
        " left over from sglang.service: end it, and run this again."
    )


def test_somebody_elses_process_is_named_without_its_secrets(proc):
    proc.listen((LOOPBACK, 501))
    proc.process(600, sockets=[501], group=SESSION, command="python -m sglang.launch_server --api-key sk-verysecret")
    (holder,) = holders(proc)
    assert holder.of_unit is False
    assert "does not belong to sglang.service" in holder.sentence(UNIT)
    assert "sk-verysecret" not in holder.sentence(UNIT) + str(holder.summary())


def test_a_holder_that_can_not_be_seen_is_still_in_the_way(proc):
    proc.listen((LOOPBACK, 501))
    (holder,) = holders(proc)
    assert holder.pid == 0
    assert "run as root" in holder.sentence(UNIT)


def test_a_listener_on_another_address_is_not_in_the_way(proc):
    proc.listen((PRIVATE, 501))
    proc.process(600, sockets=[501], group=SESSION)
    assert holders(proc, host="127.0.0.1") == []
    assert [holder.pid for holder in holders(proc, host="0.0.0.0")] == [600]


@pytest.mark.parametrize(
    ("listens_on", "addresses", "collides"),
    [
        ("10.0.0.5", {"127.0.0.1"}, False),
        ("127.0.0.1", {"127.0.0.1"}, True),
        ("0.0.0.0", {"127.0.0.1"}, True),
        ("::", {"127.0.0.1"}, True),
        ("10.0.0.5", {"::"}, True),
        ("::1", {"127.0.0.1", "::1"}, True),
        ("10.0.0.5", set(), True),
    ],
)
def test_which_listeners_collide_with_a_server(listens_on, addresses, collides):
    socket = ListeningSocket(listens_on, 30000, 501)
    assert orphans.colliding_sockets([socket], addresses) == ([socket] if collides else [])


@pytest.mark.parametrize(
    ("printed", "pids"),
    [
        ("", set()),
        ("4711\n4712\n4711\n", {4711, 4712}),
        ("  4711 \n[Not Supported]\nNo running processes found\n", {4711}),
    ],
)
def test_what_nvidia_smi_prints(printed, pids):
    assert orphans.parse_gpu_processes(printed) == pids


def test_gpu_memory_of_the_units_own_processes_counts_and_that_of_others_does_not(proc):
    proc.process(600)
    proc.process(601, group=SESSION)
    found = orphans.gpu_holders({600, 601}, of_unit(proc), str(proc))
    assert [(holder.holds, holder.pid, holder.of_unit) for holder in found] == [("GPU memory", 600, True)]


def test_memory_that_outlives_its_process_is_still_the_units(proc):
    proc.process(600)
    known = of_unit(proc)
    proc.end(600)
    (holder,) = orphans.gpu_holders({600}, known, str(proc))
    assert "GPU memory is held by process 600 (no command line), which was left over" in holder.sentence(UNIT)


def test_a_process_that_got_the_id_of_an_old_one_is_not_the_units(proc):
    proc.process(600)
    known = of_unit(proc)
    proc.end(600)
    proc.process(600, start_seconds=90)
    assert orphans.gpu_holders({600}, known, str(proc)) == []


def test_a_unit_that_never_ran_has_no_processes(proc):
    proc.process(600)
    assert not orphans.UnitProcesses(str(proc)).look("").holds(600)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def wait(looks, seconds):
    """What a wait returns, and how long it took, when one look after the other finds ``looks``."""
    clock = Clock()
    left = list(looks)
    found = orphans.wait_until_gone(lambda: left.pop(0) if len(left) > 1 else left[0], seconds, clock, clock.sleep)
    return found, clock.now


def test_the_wait_ends_with_the_last_holder():
    holder = orphans.Holder("port 30000", 600)
    assert wait([[holder], [holder], []], 30) == ([], 1.0)


def test_the_wait_is_bounded_and_tells_who_stayed():
    holder = orphans.Holder("port 30000", 600)
    assert wait([[holder]], 1.2) == ([holder], 1.2)


def test_no_time_to_wait_is_one_look():
    holder = orphans.Holder("port 30000", 600)
    assert wait([[holder], []], 0) == ([holder], 0.0)
