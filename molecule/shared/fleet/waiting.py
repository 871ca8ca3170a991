# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for a node's own word that it is up, never for a while that should do."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable

from fleet.errors import FleetError
from fleet.podman import podman, succeeds

BOOT_SECONDS = 90
SERVER_SECONDS = 120
PORT = 30000


def until(answered: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Ask until the answer is yes; raises FleetError with ``otherwise()`` when the time is over."""
    deadline = time.monotonic() + seconds
    while not answered():
        if time.monotonic() > deadline:
            raise FleetError(otherwise())
        time.sleep(0.1)


def until_booted(container: str) -> None:
    """Until systemd on the node says ``running``; a failed unit is named."""

    def says_running() -> bool:
        state = podman("exec", container, "systemctl", "is-system-running", check=False)
        if state == "degraded":
            raise FleetError(f"A unit failed while {container} booted: {_units_that_failed(container)}")
        return state == "running"

    until(says_running, BOOT_SECONDS, lambda: f"{container} did not boot in {BOOT_SECONDS} s: {_jobs(container)}")


def until_sshd_answers(container: str, address: str) -> None:
    """Until the node's sshd greets on port 22."""

    def greets() -> bool:
        try:
            with socket.create_connection((address, 22), timeout=2) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    until(greets, BOOT_SECONDS, lambda: f"sshd on {container} ({address}) did not answer in {BOOT_SECONDS} s.")


def until_server_ready(container: str, address: str) -> None:
    """Until the node's SGLang answers ``/health`` with 200; a unit that died is reported with its last words."""

    def is_ready() -> bool:
        if not succeeds("exec", container, "systemctl", "is-active", "--quiet", "sglang.service"):
            raise FleetError(f"sglang.service on {container} is not active:\n{_last_words(container)}")
        return _health(address) == 200

    def last_words() -> str:
        return f"sglang.service on {container} was not ready in {SERVER_SECONDS} s:\n{_last_words(container)}"

    until(is_ready, SERVER_SECONDS, last_words)


def _health(address: str) -> int | None:
    connection = http.client.HTTPConnection(address, PORT, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _units_that_failed(container: str) -> str:
    listing = podman("exec", container, "systemctl", "--failed", "--output=json", check=False)
    return ", ".join(unit["unit"] for unit in json.loads(listing or "[]"))


def _jobs(container: str) -> str:
    return podman("exec", container, "systemctl", "list-jobs", "--no-legend", check=False) or "it has not begun."


def _last_words(container: str) -> str:
    return podman("exec", container, "journalctl", "-u", "sglang.service", "-n", "15", "-o", "cat", check=False)
