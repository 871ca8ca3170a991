# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way to the node: its server from before MTP, a shell, and its answers."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import requests
import yaml
from rig.cache import CHECKOUT
from rig.node import INVENTORIES, NAME

HERE = Path(__file__).resolve().parent
BIN = CHECKOUT / ".venv" / "bin"
OLD_UNIT = HERE / "sglang.service"
SECONDS = 300


def inventory_options() -> list[str]:
    return [word for inventory in INVENTORIES for word in ("-i", str(inventory))]


def bring_back() -> None:
    """Run the old server, ready; nothing is restarted when it already runs."""
    _run([str(BIN / "ansible-playbook"), *inventory_options(), str(HERE / "old_server.yml")])


def wait_until_ready(port: int) -> None:
    module = ["--module-name", "llmops.sglang.server_ready", "--args", f"url=http://127.0.0.1:{port}"]
    _run([str(BIN / "ansible"), *inventory_options(), NAME, *module])


def on_node(script: str) -> str:
    """Run a shell script on the node as root and return what it printed."""
    group = _group()
    options = ["-i", group["vars"]["ansible_ssh_private_key_file"]]
    options += shlex.split(group["vars"]["ansible_ssh_common_args"])
    return _run(["ssh", *options, f"root@{address()}", script])


def address() -> str:
    return _group()["hosts"][NAME]["ansible_host"]


def continuation(prompt: str, tokens: int = 10) -> dict:
    """The node's greedy answer: ``text``, ``output_ids`` and ``meta_info``."""
    wish = {"text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}}
    answer = requests.post(f"http://{address()}:30000/generate", json=wish, timeout=60)
    answer.raise_for_status()
    return answer.json()


def server_info() -> dict:
    answer = requests.get(f"http://{address()}:30000/server_info", timeout=60)
    answer.raise_for_status()
    return answer.json()


def _group() -> dict:
    return yaml.safe_load(INVENTORIES[0].read_text(encoding="utf-8"))["sglang"]


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
