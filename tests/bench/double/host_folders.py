# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lays out the folders of a modelled fleet and its inventory. Each host has a Python and programs of its own."""

from __future__ import annotations

import json
import pathlib
import random
import shlex
import socket
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
RELEASE = "0.5.23"
# Below those that the kernel gives to clients, which could take one while its server loads.
PORTS = range(12000, 32000)
PROGRAMS = ("systemctl", "journalctl", "systemd-analyze")
TARGET = "Qwen3_5MoeForConditionalGeneration"
OLD_UNIT = """\
[Service]
Type=exec
ExecStart={python} -m sglang.launch_server --model-path {model} --host 0.0.0.0 --port {port} --tp-size 4
"""


def lay_out(folder, size):
    """Make ``size`` hosts below ``folder``; returns the path of their inventory."""
    ports = free_ports(size + 2)
    names = ["gpu%03d" % number for number in range(size)]
    for model in ("target", "draft"):
        (folder / model).mkdir()
        (folder / model / "config.json").write_text(json.dumps({"architectures": [TARGET]}))
    hosts = {}
    for name, port in zip(names, ports[2:]):
        hosts[name] = lay_out_host(folder / "hosts" / name, port, ports[0], folder)
    plan = {"port": ports[0], "spare_port": ports[1], "hosts": dict(zip(names, ports[2:]))}
    (folder / "fleet.json").write_text(json.dumps(plan))
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"sglang": {"hosts": hosts}}))
    return inventory


def lay_out_host(host, port, double_port, models):
    """One host; returns its variables."""
    python = lay_out_python(host / "venv")
    (host / "bin").mkdir()
    for program in PROGRAMS:
        (host / "bin" / program).symlink_to(HERE / "node_program")
    (host / "address").write_text("%s %d\n" % (host.name, double_port))
    (host / "units").mkdir()
    old_unit = OLD_UNIT.format(python=shlex.quote(str(python)), model=shlex.quote(str(models / "target")), port=port)
    (host / "units" / "sglang.service").write_text(old_unit)
    return {
        "ansible_connection": "local",
        "ansible_become": False,
        "ansible_python_interpreter": str(python),
        "mtp_python": str(python),
        "mtp_port": port,
        "mtp_model_path": str(models / "target"),
        "mtp_draft_model_path": str(models / "draft"),
        "mtp_unit_directory": str(host / "units"),
        "mtp_state_directory": str(host / "state"),
    }


def lay_out_python(environment):
    """A virtual environment that shares this one's packages and starts with ``node_python.py``."""
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    base = pathlib.Path(sys._base_executable)
    python.symlink_to(base)
    (environment / "pyvenv.cfg").write_text("home = %s\ninclude-system-site-packages = false\n" % base.parent)
    packages = environment / "lib" / ("python%d.%d" % sys.version_info[:2]) / "site-packages"
    packages.mkdir(parents=True)
    (packages / "node.pth").write_text("%s\n%s\nimport node_python\n" % (sysconfig.get_path("purelib"), HERE))
    (packages / ("sglang-%s.dist-info" % RELEASE)).mkdir()
    return python


def free_ports(count):
    """From a place of its own on, since other fleets may be laid out on this machine at the same time."""
    ports = []
    for port in PORTS[random.randrange(len(PORTS) // 2) :]:
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise SystemExit("There are no %d free ports on this machine." % count)
