# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: which process of this host listens where a URL points, and whether it belongs to a service instance."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import os
import shlex
import socket
import sys

from ansible_collections.llmops.sglang.plugins.module_utils import redaction

LISTENING = "0A"
LONGEST_COMMAND = 300


@dataclasses.dataclass(frozen=True)
class ListeningSocket:
    """One line of ``/proc/net/tcp`` or ``tcp6`` in the state LISTEN; ``inode`` identifies the socket."""

    address: str
    port: int
    inode: int


@dataclasses.dataclass(frozen=True)
class Process:
    """``command`` is without secrets. ``start_ticks`` counts from boot, ``started_at`` is the same in UTC."""

    pid: int
    command: str
    start_ticks: int
    started_at: str
    cgroups: tuple


@dataclasses.dataclass(frozen=True)
class Listener:
    """Who answers. ``in_cgroup`` and ``of_instance`` are ``None`` where this host could not show it.

    A process can be in the cgroup of the service and yet be left over from an earlier instance (``KillMode=process``):
    then it started before the main process of this one, and ``of_instance`` is false.
    """

    pid: int = 0
    command: str = ""
    started_at: str = ""
    in_cgroup: bool | None = None
    of_instance: bool | None = None

    def summary(self):
        return dataclasses.asdict(self)


def find_listener(host, port, instance, proc="/proc"):
    """The :class:`Listener` behind ``host:port``; a foreign one before one of ``instance``, if there are several.

    :arg instance: a :class:`~service.ServiceInstance`.
    :arg proc: where procfs is mounted.
    """
    addresses = local_addresses(host)
    sockets = answering_sockets(listening_sockets(port, proc), addresses) if addresses else []
    inodes = {one.inode for one in sockets}
    holders = socket_holders(inodes, [instance.main_pid], proc)
    if not all(holders.values()):
        holders = socket_holders(inodes, process_ids(proc), proc)
    listeners = [_listener_of(holders[one.inode], instance, proc) for one in sockets if holders.get(one.inode)]
    if not listeners:
        return Listener()
    return min(listeners, key=lambda listener: (listener.of_instance is not False, listener.of_instance is True))


def local_addresses(host):
    """The addresses that ``host`` stands for, if all of them belong to this host; else an empty set."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()
    return found if all(_is_local(address) for address in found) else set()


def listening_sockets(port, proc="/proc"):
    """All sockets of this network namespace that listen on ``port``."""
    sockets = []
    for table in ("tcp", "tcp6"):
        text = _read_text(os.path.join(proc, "net", table))
        sockets.extend(one for one in parse_listening(text) if one.port == port)
    return sockets


def parse_listening(text):
    """Lines of ``/proc/net/tcp`` or ``tcp6`` to :class:`ListeningSocket`, in order."""
    sockets = []
    for line in text.splitlines()[1:]:
        columns = line.split()
        if len(columns) > 9 and columns[3] == LISTENING:
            address, _colon, port = columns[1].partition(":")
            sockets.append(ListeningSocket(_decode_address(address), int(port, 16), int(columns[9])))
    return sockets


def answering_sockets(sockets, addresses):
    """Those of ``sockets`` that a connection to one of ``addresses`` can reach: bound to it, or else to all."""
    exact = [one for one in sockets if one.address in addresses]
    return exact or [one for one in sockets if ipaddress.ip_address(one.address).is_unspecified]


def socket_holders(inodes, pids, proc="/proc"):
    """Which of the processes hold a socket, by its inode. What another user's processes hold is seen by root only."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    holders = {inode: [] for inode in inodes}
    for pid in pids if wanted else ():
        for inode in {wanted[link] for link in _open_files(pid, proc) if link in wanted}:
            holders[inode].append(pid)
    return holders


def process_ids(proc="/proc"):
    """The processes of this host, by their IDs."""
    return [int(name) for name in os.listdir(proc) if name.isdigit()]


def read_process(pid, proc="/proc"):
    """One :class:`Process`; ``None`` when it is gone."""
    folder = os.path.join(proc, str(pid))
    # The name stands in parentheses and may hold anything, parentheses too.
    fields = _read_text(os.path.join(folder, "stat")).rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    ticks = int(fields[19])
    return Process(
        pid=pid,
        command=_command(_read_text(os.path.join(folder, "cmdline"))),
        start_ticks=ticks,
        started_at=_started_at(ticks, _read_text(os.path.join(proc, "stat"))),
        cgroups=parse_cgroup(_read_text(os.path.join(folder, "cgroup"))),
    )


def parse_cgroup(text):
    """The paths by which systemd knows a process: of its own hierarchy (cgroup v1) and of the unified one (v2)."""
    entries = (line.split(":", 2) for line in text.splitlines())
    return tuple(
        entry[2] for entry in entries if len(entry) == 3 and (entry[1] == "name=systemd" or entry[:2] == ["0", ""])
    )


def is_in_cgroup(process, control_group):
    """Whether a process is in a unit's ``ControlGroup`` or below it; ``None`` when the unit has none."""
    group = control_group.rstrip("/")
    if not group:
        return None
    return any(path == group or path.startswith(group + "/") for path in process.cgroups)


def is_of_instance(process, instance, main_process):
    """Whether a process belongs to this instance, rather than to an earlier one or to somebody else."""
    in_cgroup = is_in_cgroup(process, instance.control_group)
    if not in_cgroup:
        return in_cgroup
    if process.pid == instance.main_pid:
        return True
    return process.start_ticks >= main_process.start_ticks if main_process else None


def _listener_of(pids, instance, proc):
    """A socket may have several holders (workers, socket activation): one of the instance is enough."""
    main_process = read_process(instance.main_pid, proc) if instance.main_pid else None
    processes = [process for process in (read_process(pid, proc) for pid in pids) if process]
    best = Listener()
    for process in processes:
        of_instance = is_of_instance(process, instance, main_process)
        if of_instance or not best.pid:
            in_cgroup = is_in_cgroup(process, instance.control_group)
            best = Listener(process.pid, process.command, process.started_at, in_cgroup, of_instance)
        if of_instance:
            break
    return best


def _decode_address(text):
    """``/proc`` prints each 32-bit word of an address in the byte order of the machine."""
    raw = bytes.fromhex(text)
    words = [raw[start : start + 4] for start in range(0, len(raw), 4)]
    address = ipaddress.ip_address(b"".join(word[::-1] if sys.byteorder == "little" else word for word in words))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _is_local(address):
    """An address of this host is one that a socket can be bound to."""
    if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return True
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _open_files(pid, proc):
    folder = os.path.join(proc, str(pid), "fd")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [link for link in (_read_link(os.path.join(folder, name)) for name in names) if link]


def _read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _command(cmdline):
    words = [word for word in cmdline.split("\0") if word]
    command = redaction.Redactor().redact(" ".join(shlex.quote(word) for word in words))
    return command if len(command) <= LONGEST_COMMAND else command[:LONGEST_COMMAND] + " …"


def _started_at(ticks, kernel_stat):
    boot = [line.split()[1] for line in kernel_stat.splitlines() if line.startswith("btime ")]
    if not boot:
        return ""
    seconds = int(boot[0]) + ticks / os.sysconf("SC_CLK_TCK")
    moment = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return source.read()
    except OSError:
        return ""
