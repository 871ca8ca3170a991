# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Local hosts that keep state: the real unit and restart modules act on them through a modelled ``systemctl``.

What a host is lies in its folder: the unit on disk and its store, the running server (a sleeping process that carries
the unit's fingerprint, as a real one does), its place in the router, the instances that were proven.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
PLAYBOOK = CHECKOUT / "playbooks" / "deploy_mtp.yml"
UNIT = "sglang.service"
OLD_UNIT = "[Service]\nExecStart=/opt/sglang/venv/bin/python -m sglang.launch_server --port 9\n"
# Nobody listens on the discard port, which the restart looks at.
PORT = 9
LIMIT_SECONDS = 120


class ModelledHost:
    """One host in its folder."""

    def __init__(self, folder, refuses=False):
        self.folder = folder
        self._refuses = refuses

    def start_over(self):
        """The old server runs and has requests; nothing was ever deployed."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "units").mkdir(parents=True)
        (self.folder / "units" / UNIT).write_text(OLD_UNIT)
        (self.folder / "in_router").touch()
        if self._refuses:
            (self.folder / "refuses").touch()
        for name, text in self._programs().items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        subprocess.run([self.folder / "bin" / "systemctl", "start", UNIT], check=True, timeout=30)

    def kill(self):
        running = self._read("running.json")
        if running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(json.loads(running)["pid"], signal.SIGKILL)

    def variables(self):
        return {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": str(self.folder / "python"),
            "mtp_unit_directory": str(self.folder / "units"),
            "mtp_state_directory": str(self.folder / "state"),
        }

    def state(self):
        """``new`` when unit, running server and router agree on a proven one with MTP, ``old`` when on the old one."""
        unit = self._read("units/" + UNIT)
        running = json.loads(self._read("running.json") or "{}")
        problems = self._read("faults").splitlines()
        if running.get("unit") != unit:
            problems.append("the running server is not the unit on disk")
        if not (self.folder / "in_router").exists():
            problems.append("no router sends it requests")
        if (self.folder / "state" / UNIT / "candidate").exists():
            problems.append("the unit on disk is still without proof")
        if unit != OLD_UNIT and running.get("invocation_id", "?") not in self._read("proven"):
            problems.append("the running server was never proven")
        return ", ".join(problems) or ("old" if unit == OLD_UNIT else "new")

    def _programs(self):
        node = 'export SCRIPTED_HOST="%s" SCRIPTED_PYTHON="%s" PATH="%s:$PATH"\n' % (
            self.folder,
            self.folder / "python",
            self.folder / "bin",
        )
        systemctl = '#!/bin/sh\n%sexec "%s" -S "%s" "$@"\n' % (node, sys.executable, HERE / "model_systemctl.py")
        return {
            "python": '#!/bin/sh\n%sexec "%s" "$@"\n' % (node, sys.executable),
            "bin/systemctl": systemctl,
            "bin/systemd-analyze": "#!/bin/sh\nexit 0\n",
        }

    def _read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""


class ModelledFleet:
    """Hosts in one folder. ``refusing`` names those whose server never proves that it speculates."""

    def __init__(self, folder, collections, names, refusing=()):
        self.folder = folder
        self._collections = collections
        self.hosts = {name: ModelledHost(folder / "hosts" / name, name in refusing) for name in names}

    def start_over(self):
        for host in self.hosts.values():
            host.start_over()
        shutil.rmtree(self.folder / "mtp-ledger", ignore_errors=True)
        inventory = {name: host.variables() for name, host in self.hosts.items()}
        (self.folder / "hosts.json").write_text(json.dumps({"sglang": {"hosts": inventory}}))

    def kill(self):
        for host in self.hosts.values():
            host.kill()

    def states(self):
        return {name: host.state() for name, host in self.hosts.items()}

    def deploy(self, kill_at=0, **variables):
        """One deployment, killed before its task number ``kill_at``; ``(exit code, output, its tasks)``.

        A task is a pair of its action and its name.
        """
        tasks = self.folder / "tasks"
        tasks.write_text("")
        variables.update(mtp_port=PORT, mtp_router_urls=["http://router"], mtp_batches=[1])
        done = subprocess.run(
            ["ansible-playbook", "-i", str(self.folder / "hosts.json"), str(PLAYBOOK), "-e", json.dumps(variables)],
            env=dict(
                os.environ,
                PATH="%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"]),
                ANSIBLE_COLLECTIONS_PATH=str(self._collections),
                ANSIBLE_CALLBACK_PLUGINS=str(HERE / "killer"),
                ANSIBLE_NOCOLOR="1",
                KILL_AT=str(kill_at),
                TASKS_FILE=str(tasks),
            ),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout, [line.split("\t") for line in tasks.read_text().splitlines()]
