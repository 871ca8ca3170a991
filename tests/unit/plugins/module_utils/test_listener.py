# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import socket

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import listener
from ansible_collections.llmops.sglang.plugins.module_utils.service import parse_show

GROUP = "/system.slice/sglang.service"
TICKS = os.sysconf("SC_CLK_TCK")
TCP_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
# As Linux prints them on a little-endian machine; 7530 is port 30000, 0A is LISTEN, 01 ESTABLISHED.
REST = " 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n"
LOOPBACK = "   0: 0100007F:7530 00000000:0000 0A" + REST % 501
ANY = "   1: 00000000:7530 00000000:0000 0A" + REST % 502
TALKING = "   2: 0100007F:7530 0100007F:D2F2 01" + REST % 503
OTHER_PORT = "   3: 00000000:7531 00000000:0000 0A" + REST % 504
ANY_6 = "   0: %s:7530 %s:0000 0A" % ("0" * 32, "0" * 32) + REST % 601
LOOPBACK_6 = "   1: 00000000000000000000000001000000:7530 %s:0000 0A" % ("0" * 32) + REST % 602


class Proc:
    """A procfs of a test's own."""

    def __init__(self, root):
        self.root = root
        (root / "net").mkdir()
        (root / "stat").write_text("cpu 1 2\nbtime 1772366400\n")
        self.tcp()

    def tcp(self, *lines, six=()):
        (self.root / "net" / "tcp").write_text(TCP_HEAD + "".join(lines))
        (self.root / "net" / "tcp6").write_text(TCP_HEAD + "".join(six))

    def process(self, pid, start_seconds, sockets=(), group=GROUP, command=("python", "-m", "sglang.launch_server")):
        folder = self.root / str(pid)
        (folder / "fd").mkdir(parents=True)
        for number, inode in enumerate(sockets):
            (folder / "fd" / str(number)).symlink_to("socket:[%d]" % inode)
        (folder / "fd" / "99").symlink_to("/dev/null")
        stat = "%d (a (b) c) S 1 %s" % (pid, "0 " * 17)
        (folder / "stat").write_text(stat + "%d 0 0\n" % (start_seconds * TICKS))
        (folder / "cmdline").write_text("\0".join(command) + "\0")
        (folder / "cgroup").write_text("4:memory:/elsewhere\n1:name=systemd:%s\n0::%s\n" % (group, group))


@pytest.fixture
def proc(tmp_path):
    return Proc(tmp_path)


def instance(main_pid=700, group=GROUP):
    return parse_show("sglang.service", "MainPID=%d\nControlGroup=%s\n" % (main_pid, group))


def find(proc, host="127.0.0.1", **of_instance):
    return listener.find_listener(host, 30000, instance(**of_instance), str(proc.root))


def test_sockets_that_listen_are_read_with_their_addresses():
    found = listener.parse_listening(TCP_HEAD + LOOPBACK + ANY + TALKING + OTHER_PORT)
    assert [(one.address, one.port, one.inode) for one in found] == [
        ("127.0.0.1", 30000, 501),
        ("0.0.0.0", 30000, 502),
        ("0.0.0.0", 30001, 504),
    ]
    assert [one.address for one in listener.parse_listening(TCP_HEAD + ANY_6 + LOOPBACK_6)] == ["::", "::1"]


def test_a_table_that_is_cut_or_empty_holds_nothing():
    assert listener.parse_listening("") == []
    assert listener.parse_listening(TCP_HEAD + LOOPBACK[:40]) == []


def test_the_most_exact_address_answers():
    sockets = listener.parse_listening(TCP_HEAD + LOOPBACK + ANY)
    assert [one.inode for one in listener.answering_sockets(sockets, {"127.0.0.1"})] == [501]
    assert [one.inode for one in listener.answering_sockets(sockets, {"10.0.0.5"})] == [502]
    assert listener.answering_sockets(sockets[:1], {"10.0.0.5"}) == []


def test_the_main_process_listens(proc):
    proc.tcp(ANY, TALKING)
    proc.process(700, 50, sockets=[502, 503])
    found = find(proc)
    assert (found.pid, found.in_cgroup, found.of_instance) == (700, True, True)
    assert found.command == "python -m sglang.launch_server"
    assert found.started_at == "2026-03-01T12:00:50Z"


def test_a_child_of_the_main_process_listens(proc):
    proc.tcp(six=[ANY_6])
    proc.process(700, 50)
    proc.process(702, 51, sockets=[601], group=GROUP + "/workers")
    assert (find(proc).pid, find(proc).of_instance) == (702, True)


def test_an_orphan_in_another_cgroup_is_a_foreigner(proc):
    proc.tcp(ANY)
    proc.process(700, 50)
    proc.process(600, 10, sockets=[502], group="/user.slice/session-1.scope")
    found = find(proc)
    assert (found.pid, found.in_cgroup, found.of_instance) == (600, False, False)


def test_a_unit_whose_name_only_begins_alike_is_a_foreigner(proc):
    proc.tcp(ANY)
    proc.process(700, 50)
    proc.process(600, 60, sockets=[502], group=GROUP + "-old")
    assert find(proc).in_cgroup is False


def test_a_process_left_over_in_the_cgroup_is_not_of_the_instance(proc):
    proc.tcp(ANY)
    proc.process(600, 10, sockets=[502])
    proc.process(700, 50)
    found = find(proc)
    assert (found.pid, found.in_cgroup, found.of_instance) == (600, True, False)


def test_a_foreigner_beside_the_instance_is_shown_first(proc):
    proc.tcp(ANY, six=[ANY_6])
    proc.process(600, 60, sockets=[601], group="/user.slice")
    proc.process(700, 50, sockets=[502])
    assert find(proc).pid == 600


def test_a_socket_that_systemd_holds_as_well_is_of_the_instance(proc):
    proc.tcp(ANY)
    proc.process(1, 0, sockets=[502], group="/init.scope")
    proc.process(700, 50)
    proc.process(701, 51, sockets=[502])
    assert (find(proc).pid, find(proc).of_instance) == (701, True)


def test_nobody_who_can_be_seen_is_nobody(proc):
    assert find(proc) == listener.Listener()
    proc.tcp(ANY)
    assert find(proc) == listener.Listener()


def test_a_unit_without_a_cgroup_can_not_be_compared(proc):
    proc.tcp(ANY)
    proc.process(600, 10, sockets=[502])
    found = find(proc, main_pid=0, group="")
    assert (found.pid, found.in_cgroup, found.of_instance) == (600, None, None)


def test_a_key_on_the_command_line_is_not_shown(proc):
    proc.tcp(ANY)
    proc.process(700, 50, sockets=[502], command=("python", "--api-key", "sk-topsecret", "--port", "30000"))
    assert "sk-topsecret" not in find(proc).command
    assert "--port 30000" in find(proc).command


@pytest.mark.parametrize(
    "text, paths",
    [
        ("0::/system.slice/a.service\n", ("/system.slice/a.service",)),
        ("2:cpu,cpuacct:/\n1:name=systemd:/system.slice/a.service\n", ("/system.slice/a.service",)),
        ("9:name=systemd:/a:b.service\n8:pids:/\n0::/\n", ("/a:b.service", "/")),
        ("", ()),
    ],
)
def test_the_cgroup_is_read_in_all_hierarchies(text, paths):
    assert listener.parse_cgroup(text) == paths


def test_a_real_socket_of_this_process_is_found():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = listener.find_listener("localhost", port, instance(main_pid=os.getpid(), group="/nowhere"))
    assert (found.pid, found.in_cgroup) == (os.getpid(), False)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_a_server_elsewhere_is_not_looked_for_here(host):
    assert listener.local_addresses(host) == set()
