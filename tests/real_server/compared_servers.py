# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The same command line, run by the real SGLang on the node and by the stand-in on this machine."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import node_access
from rig.cache import CHECKOUT
from rig.node import CHECKPOINTS

STANDIN = CHECKOUT / "tests" / "standin"
MODELS = "/shared/models/alphabet"
DROP_IN = "/run/systemd/system/sglang.service.d/compared.conf"
# The model is tiny, and it loads slowly enough to be watched.
STANDIN_SETTINGS = {
    "STANDIN_LOAD_SECONDS": "4",
    "STANDIN_TARGET_MEMORY_GB": "0",
    "STANDIN_DRAFT_MEMORY_GB": "0",
}
STOP_SECONDS = 30


def old_command() -> list[str]:
    """The command line in the old unit."""
    unit = node_access.OLD_UNIT.read_text(encoding="utf-8").replace("\\\n", "")
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    return shlex.split(line.removeprefix("ExecStart="))


class RealServer:
    """The old unit with further flags. While this is in use, nothing else may touch the unit."""

    def __init__(self, flags: list[str]):
        self.command = [*old_command(), *flags]
        self.url = f"http://{node_access.address()}:30000"
        node_access.on_node("systemctl stop sglang.service")

    def start(self) -> None:
        setting = f"[Service]\nExecStart=\nExecStart={shlex.join(self.command)}\n"
        node_access.on_node(
            f"mkdir -p {Path(DROP_IN).parent} && echo {shlex.quote(setting)} > {DROP_IN}"
            " && systemctl daemon-reload && systemctl start sglang.service"
        )

    def log(self) -> str:
        instance = node_access.on_node("systemctl show --property InvocationID --value sglang.service").strip()
        return node_access.on_node(f"journalctl --output cat --no-pager _SYSTEMD_INVOCATION_ID={instance}")

    def end(self) -> None:
        node_access.on_node(f"systemctl stop sglang.service; rm -f {DROP_IN}; systemctl daemon-reload")


class Standin:
    """The stand-in as a process of this machine, with the same checkpoints."""

    def __init__(self, flags: list[str], log_file: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        words = [*old_command()[1:], *flags, "--host", "127.0.0.1", "--port", str(port)]
        self.command = [sys.executable, *(word.replace(MODELS, str(CHECKPOINTS.path)) for word in words)]
        self.url = f"http://127.0.0.1:{port}"
        self.log_file = log_file
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, "PYTHONPATH": str(STANDIN), **STANDIN_SETTINGS},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_SECONDS)
