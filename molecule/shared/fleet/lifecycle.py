# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring a fleet up, keep the one that already runs, take it down."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from fleet import network, payload, waiting
from fleet.errors import FleetError
from fleet.image import ensure_image, image_name
from fleet.inventory import Running, inventory
from fleet.mount import Mount
from fleet.node import Fleet, Node
from fleet.podman import limits, podman, succeeds

FLEET_LABEL = "llmops-sglang.fleet"
RECIPE_LABEL = "llmops-sglang.recipe"
# Somebody else may take the range of addresses between podman's choosing it and the first node's start.
TRIES = 3
# Podman's own choice of capabilities leaves units without the sandbox that they ask systemd for.
LIKE_A_MACHINE = ("--systemd=always", "--cap-add=SYS_ADMIN", "--security-opt=apparmor=unconfined")


def up(
    fleet: Fleet,
    nodes: list[Node],
    inventory_file: Path,
    standin: Path,
    *,
    mounts: list[Mount],
    server: bool,
    keep: bool,
) -> None:
    """Start the nodes and write their inventory; leftovers of an earlier run are removed first.

    :param mounts: folders of this machine that every node sees
    :param server: start sglang.service too, and wait until it is ready
    :param keep: leave nodes alone that already run as asked
    """
    recipes = {node: _recipe(node, standin, mounts) for node in nodes}
    if keep and inventory_file.is_file() and _already_runs(fleet, recipes):
        print(f"{_names(nodes)}: already running, kept.", flush=True)
        return
    for suite in sorted({node.suite for node in nodes}):
        ensure_image(suite, fleet.checkout / ".cache" / "wheels")
    running = [_settle(fleet, started, server) for started in _start_afresh(fleet, recipes, standin, mounts)]
    inventory_file.parent.mkdir(parents=True, exist_ok=True)
    inventory_file.write_text(inventory(running, _key(fleet), fleet.directory / "known_hosts"), encoding="utf-8")


def down(fleet: Fleet) -> list[str]:
    """Remove the fleet's nodes, network and files; returns the names of what was removed."""
    containers = _containers(fleet)
    if containers:
        podman("rm", "--force", "--time", "0", *containers)
    networks = [fleet.label] if succeeds("network", "exists", fleet.label) else []
    if networks:
        podman("network", "rm", "--force", fleet.label)
    if fleet.directory.is_dir():
        shutil.rmtree(fleet.directory)
    return containers + networks


def _start_afresh(fleet: Fleet, recipes: dict[Node, str], standin: Path, mounts: list[Mount]) -> list[Running]:
    for _try in range(TRIES - 1):
        down(fleet)
        try:
            return _start(fleet, recipes, standin, mounts)
        except FleetError as error:
            print(f"Once more, because {error}", flush=True)
    down(fleet)
    return _start(fleet, recipes, standin, mounts)


def _start(fleet: Fleet, recipes: dict[Node, str], standin: Path, mounts: list[Mount]) -> list[Running]:
    public_key = _make_key(fleet)
    names = [node.name for node in recipes]
    address = network.addresses(network.create(fleet.label), names)
    hosts = [f"--add-host={name}:{address[name]}" for name in names]
    started = []
    for node, recipe in recipes.items():
        container = fleet.container(node)
        identity = podman(
            "create",
            f"--name={container}",
            f"--hostname={node.name}",
            f"--network={fleet.label}",
            f"--ip={address[node.name]}",
            f"--label={FLEET_LABEL}={fleet.label}",
            f"--label={RECIPE_LABEL}={recipe}",
            "--pull=never",
            *hosts,
            *(f"--volume={mount.folder}:{mount.target}:ro" for mount in mounts),
            *LIKE_A_MACHINE,
            *limits(),
            image_name(node.suite),
        )
        files = payload.files_for(node, standin, public_key)
        podman("cp", "-", f"{container}:/", stdin=payload.as_tar(files))
        podman("start", container)
        started.append(Running(node, address[node.name], identity))
    return started


def _settle(fleet: Fleet, running: Running, server: bool) -> Running:
    container = fleet.container(running.node)
    waiting.until_booted(container)
    waiting.until_sshd_answers(container, running.address)
    if server:
        podman("exec", container, "systemctl", "enable", "--quiet", "--now", "sglang.service")
        waiting.until_server_ready(container, running.address)
    print(f"{running.node.name}: Debian {running.node.suite} at {running.address}, container {container}", flush=True)
    return running


def _already_runs(fleet: Fleet, recipes: dict[Node, str]) -> bool:
    wanted = {fleet.container(node): ("running", recipe) for node, recipe in recipes.items()}
    containers = _containers(fleet)
    found = json.loads(podman("inspect", *containers)) if containers else []
    return wanted == {
        container["Name"]: (container["State"]["Status"], container["Config"]["Labels"].get(RECIPE_LABEL))
        for container in found
    }


def _recipe(node: Node, standin: Path, mounts: list[Mount]) -> str:
    files = payload.digest(payload.files_for(node, standin, public_key=""))
    return "+".join([image_name(node.suite), files, *(f"{mount.folder}:{mount.target}" for mount in mounts)])


def _key(fleet: Fleet) -> Path:
    return fleet.directory / "id_ed25519"


def _make_key(fleet: Fleet) -> str:
    fleet.directory.mkdir(parents=True, exist_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", fleet.label, "-f", str(_key(fleet))]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FleetError(f"ssh-keygen made no key for the nodes: {done.stderr.strip()}")
    return _key(fleet).with_suffix(".pub").read_text(encoding="utf-8")


def _containers(fleet: Fleet) -> list[str]:
    return podman("ps", "--all", f"--filter=label={FLEET_LABEL}={fleet.label}", "--format={{.Names}}").split()


def _names(nodes: list[Node]) -> str:
    return ", ".join(node.name for node in nodes)
