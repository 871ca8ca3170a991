# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes of the scenario behind one real router: what runs on them, and a way to start over."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import pathlib
import socket
import time
from urllib.parse import urlsplit

from testinfra.utils.ansible_runner import AnsibleRunner

from fleet import waiting
from fleet.podman import podman

UNIT = "/etc/systemd/system/sglang.service"
# What every node runs before anything is deployed.
OLD_UNIT = (pathlib.Path(__file__).parents[1] / "shared" / "rootfs" / UNIT.lstrip("/")).read_text(encoding="utf-8")
PORT = 30000
WAIT_SECONDS = 60
LOOK_SECONDS = 0.2

START_OVER = f"""
set -e
old=%s state=/var/lib/llmops-sglang unit={UNIT}
[ -e $state ] || ! [ "$(cat $unit)" = "$(printf %%s "$old")" ] || exit 0
rm -rf $state
printf '%%s' "$old" > $unit
systemctl daemon-reload
systemctl restart sglang.service
until curl --silent --fail --output /dev/null http://127.0.0.1:{PORT}/health; do sleep 0.1; done
"""


@dataclasses.dataclass(frozen=True)
class Node:
    """One node: its name and how to run commands on it; the ``url`` at which the router reaches its server."""

    name: str
    shell: object
    url: str

    @property
    def address(self):
        return urlsplit(self.url).hostname

    @property
    def unit(self):
        """The text of the unit on disk."""
        return self.shell.file(UNIT).content_string

    @property
    def has_old_unit(self):
        return self.unit == OLD_UNIT

    @property
    def invocation(self):
        return self.shell.check_output("systemctl show --property=InvocationID --value sglang.service")

    @property
    def speculates(self):
        """Whether the running server, whatever is on disk, was started with MTP."""
        return "--speculative-algorithm" in self._command()

    @property
    def ready(self):
        asked = "curl --silent --output /dev/null --write-out %s http://127.0.0.1:30000/health"
        return self.shell.run(asked, "%{http_code}").stdout == "200"

    def _command(self):
        show = "systemctl show --property=MainPID --value sglang.service"
        return self.shell.run("tr '\\0' ' ' < /proc/$(%s)/cmdline" % show).stdout


class Fleet:
    """All nodes of an inventory."""

    def __init__(self, inventory):
        self._runner = AnsibleRunner(str(inventory))
        self.nodes = {name: self._node(name) for name in self._runner.get_hosts("sglang")}

    def _node(self, name):
        url = "http://%s:%d" % (self._runner.get_variables(name)["ansible_host"], PORT)
        return Node(name, self._runner.get_host(name), url)

    def of_each(self, ask, names=None):
        """``{name: ask(node)}`` for the named nodes (all), asked at the same time."""
        names = list(names or self.nodes)
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(lambda name: ask(self.nodes[name]), names)))

    def invocations(self):
        return self.of_each(lambda node: node.invocation)

    def on_old_unit(self):
        """Names of the nodes whose unit on disk is the one they had at first."""
        return [name for name, has in self.of_each(lambda node: node.has_old_unit).items() if has]

    def speculating(self):
        """Names of the nodes whose running server was started with MTP."""
        return [name for name, speculates in self.of_each(lambda node: node.speculates).items() if speculates]

    def start_over(self):
        """Every node on the unit it had at first, with nothing kept from a deployment."""
        self.of_each(lambda node: node.shell.check_output(START_OVER, OLD_UNIT))

    def reboot(self, name):
        """Reboot a node in order, and wait until it lets commands run again."""
        address = self.nodes[name].address
        container = _container_at(address)
        podman("restart", "--time=20", container)
        waiting.until_booted(container)
        waiting.until_sshd_answers(container, address)

    def own_address(self):
        """This machine's address as the nodes see it. No packet is sent."""
        address = next(iter(self.nodes.values())).address
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, PORT))
            return probe.getsockname()[0]


def _container_at(address):
    """The container that has this address in its network."""
    running = json.loads(podman("inspect", *podman("ps", "--quiet").split()))
    return next(
        container["Id"]
        for container in running
        for network in container["NetworkSettings"]["Networks"].values()
        if network["IPAddress"] == address
    )


def wait_until(happened, what):
    """Wait for a real event, and no longer than ``WAIT_SECONDS``."""
    end = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < end, "after %d s there is still no %s" % (WAIT_SECONDS, what)
        time.sleep(LOOK_SECONDS)
