"""A fleet of local hosts whose modules answer what a script says; playbooks, role, gate and report run as they are."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import stat
import subprocess
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTED = (
    "mtp_preflight",
    "service_unit",
    "service_restart",
    "mtp_verify",
    "server_ready",
    "mtp_prove",
    "mtp_soak",
    "router_worker",
)
# A run takes a few seconds; one that hangs is a failure.
LIMIT_SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Outcome:
    exit_code: int
    output: str
    records: dict
    calls: dict

    def acted_on(self):
        """The hosts on which anything was changed."""
        return [host for host, calls in self.calls.items() if "service_unit present" in calls]


class Fleet:
    """Hosts with a folder each, in which their script and the calls of their modules lie."""

    def __init__(self, folder, collections):
        self.folder = folder
        self._collections = collections
        self._hosts = {}

    def add(self, name, unreachable=False, variables=None, **script):
        """A host; ``script`` maps a module's call, such as ``service_unit_present``, to what differs in its result."""
        host = self.folder / "hosts" / name
        host.mkdir(parents=True)
        answers = {call.replace("__", " "): answer for call, answer in script.items()}
        (host / "script.json").write_text(json.dumps(answers))
        (host / "calls").write_text("")
        python = host / "python"
        python.write_text(
            '#!/bin/sh\nexport SCRIPTED_HOST="%s" SCRIPTED_PYTHON="%s"\nexec "%s" "$@"\n'
            % (host, python, sys.executable)
        )
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        self._hosts[name] = {
            "ansible_connection": "ssh" if unreachable else "local",
            # Nothing listens on the discard port of this address: a refused connection, at once.
            "ansible_host": "127.0.0.9",
            "ansible_port": 9,
            "ansible_python_interpreter": str(python),
            "ansible_become": False,
            **(variables or {}),
        }

    def command(self, playbook, *options, **variables):
        inventory = self.folder / "inventory" / "hosts.yml"
        inventory.parent.mkdir(exist_ok=True)
        inventory.write_text(json.dumps({"sglang": {"hosts": self._hosts}}))
        playbook = CHECKOUT / "playbooks" / (playbook + ".yml")
        return ["ansible-playbook", "-i", str(inventory), str(playbook), "-e", json.dumps(variables), *options]

    def environment(self):
        return dict(
            os.environ,
            PATH="%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"]),
            ANSIBLE_COLLECTIONS_PATH=str(self._collections),
            ANSIBLE_NOCOLOR="1",
            ANSIBLE_FORKS="4",
        )

    def run(self, playbook="deploy_mtp", *options, limit_seconds=LIMIT_SECONDS, settings=None, **variables):
        """Run a playbook with these ``variables``; ``settings`` are those of Ansible, as its environment names them."""
        done = subprocess.run(
            self.command(playbook, *options, **variables),
            env=dict(self.environment(), **(settings or {})),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_seconds,
            check=False,
        )
        print(done.stdout)
        return Outcome(done.returncode, done.stdout, self.records(), self.calls())

    def records(self):
        """The records of the latest rollout, by host."""
        rollouts = sorted((self.folder / "inventory" / "mtp-ledger").glob("*/"))
        paths = rollouts[-1].glob("*.json") if rollouts else []
        found = [json.loads(path.read_text()) for path in paths]
        return {record["host"]: record for record in found}

    def calls(self):
        return {name: (self.folder / "hosts" / name / "calls").read_text().splitlines() for name in self._hosts}


def lay_out(root, replaced, script):
    """Lay the collection out below ``root``, with a script in the place of some modules; returns ``root``."""
    home = root / "ansible_collections" / "llmops" / "sglang"
    (home / "plugins" / "modules").mkdir(parents=True)
    for name in ("galaxy.yml", "meta", "roles", "playbooks"):
        (home / name).symlink_to(CHECKOUT / name)
    for name in ("action", "filter", "module_utils", "doc_fragments"):
        (home / "plugins" / name).symlink_to(CHECKOUT / "plugins" / name)
    for module in (CHECKOUT / "plugins" / "modules").glob("*.py"):
        copy = home / "plugins" / "modules" / module.name
        if module.stem in replaced:
            copy.write_text(script.replace("@NAME@", module.stem))
        else:
            copy.symlink_to(module)
    return root


def lay_out_scripted(root):
    """The collection as it stands, with the modules that touch a node replaced by the scripted one."""
    return lay_out(root, SCRIPTED, pathlib.Path(__file__).with_name("scripted_module.py").read_text())
