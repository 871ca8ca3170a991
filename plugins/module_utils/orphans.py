# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: which processes stand in the way of a start, because they hold the port or the old instance's GPU memory."""

from __future__ import annotations

import dataclasses
import ipaddress
import time

from ansible_collections.llmops.sglang.plugins.module_utils import listener

SECONDS_BETWEEN_LOOKS = 0.5
GPU_PROCESSES = ("--query-compute-apps=pid", "--format=csv,noheader")
GPU_MEMORY = "GPU memory"


@dataclasses.dataclass(frozen=True)
class Holder:
    """A process that holds what a start needs.

    ``holds`` is ``port 30000`` or ``GPU memory``. ``pid`` is 0 for a holder that can't be seen. ``command`` is without
    secrets, and with ``started_at`` (UTC) empty for a process that is gone while the driver still counts its memory.
    ``of_unit``: it was started by the unit.
    """

    holds: str
    pid: int = 0
    command: str = ""
    started_at: str = ""
    of_unit: bool = False

    def summary(self):
        return dataclasses.asdict(self)

    def sentence(self, unit):
        """Who holds what, and the way out."""
        holds = self.holds[0].upper() + self.holds[1:]
        if not self.pid:
            return f"{holds} is held, and by whom can't be seen on this host: run as root to have it named."
        who = f"process {self.pid} ({self.command or 'no command line'})"
        when = f", started {self.started_at}" if self.started_at else ""
        whose = f"was left over from {unit}" if self.of_unit else f"does not belong to {unit}"
        return f"{holds} is held by {who}{when}, which {whose}: end it, and run this again."


class UnitProcesses:
    """The processes of a unit: those that its cgroup holds now, and those that were seen in it before."""

    def __init__(self, proc="/proc"):
        self._proc = proc
        self._started = {}

    def look(self, control_group):
        """Note what runs in the cgroup now. Processes that leave it later are still known by their start."""
        for pid in listener.process_ids(self._proc):
            process = listener.read_process(pid, self._proc)
            if process and listener.is_in_cgroup(process, control_group):
                self._started[pid] = process.start_ticks
        return self

    def holds(self, pid):
        """Whether a process is one of them, alive or gone; another one that got its ID since is not."""
        if pid not in self._started:
            return False
        process = listener.read_process(pid, self._proc)
        return process is None or process.start_ticks == self._started[pid]


def port_holders(host, port, unit_processes, proc="/proc"):
    """The :class:`Holder` of each socket that a server on ``host:port`` would collide with."""
    sockets = colliding_sockets(listener.listening_sockets(port, proc), listener.local_addresses(host))
    pids = listener.process_ids(proc) if sockets else []
    found = listener.socket_holders([one.inode for one in sockets], pids, proc)
    holders = {_holder(f"port {port}", pid, unit_processes, proc) for pids in found.values() for pid in pids or [0]}
    return sorted(holders, key=lambda holder: holder.pid)


def colliding_sockets(sockets, addresses):
    """Those of ``sockets`` that let no other process bind to ``addresses``. Without addresses, all do.

    ``0.0.0.0`` and ``::`` collide with everything.
    """
    wanted = [ipaddress.ip_address(address) for address in addresses]
    if not wanted or any(address.is_unspecified for address in wanted):
        return list(sockets)
    taken = [(one, ipaddress.ip_address(one.address)) for one in sockets]
    return [one for one, address in taken if address in wanted or address.is_unspecified]


def gpu_holders(pids, unit_processes, proc="/proc"):
    """The :class:`Holder` of each of ``pids`` (processes with GPU memory) that the unit has started.

    Others may share the GPUs with the server: they are nobody's orphans.
    """
    return [_holder(GPU_MEMORY, pid, unit_processes, proc) for pid in sorted(pids) if unit_processes.holds(pid)]


def parse_gpu_processes(text):
    """The process IDs in what ``nvidia-smi`` prints for ``GPU_PROCESSES``: one a line, once for each of its GPUs."""
    return {int(line) for line in map(str.strip, text.splitlines()) if line.isdigit()}


def wait_until_gone(look, seconds, clock=time.monotonic, sleep=time.sleep):
    """Look until there are no holders or time is up; what the last look has found.

    :arg look: returns a list of :class:`Holder`.
    """
    until = clock() + seconds
    while True:
        holders = look()
        remaining = until - clock()
        if not holders or remaining <= 0:
            return holders
        sleep(min(SECONDS_BETWEEN_LOOKS, remaining))


def _holder(holds, pid, unit_processes, proc):
    process = listener.read_process(pid, proc) if pid else None
    command, started_at = (process.command, process.started_at) if process else ("", "")
    return Holder(holds, pid, command, started_at, unit_processes.holds(pid))
