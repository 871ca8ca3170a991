# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-in as a test handles it: checkpoints on disk, and servers that are really started."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

STANDIN = Path(__file__).resolve().parents[2] / "standin"
CAPTURED = Path(__file__).resolve().parents[1] / "fixtures" / "captured"
DEADLINE = 20.0
READY = "The server is fired up and ready to roll!"

sys.path.insert(0, str(STANDIN))


@pytest.fixture(scope="session")
def captured() -> Path:
    return CAPTURED


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> dict[str, str]:
    """Folders of checkpoints: the reference's ``target`` and ``draft``, and others by what they are."""
    root = tmp_path_factory.mktemp("models")
    architectures = {
        "target": "Qwen3_5MoeForConditionalGeneration",
        "draft": "Qwen3_5MoeForConditionalGeneration",
        "dense": "Qwen3ForCausalLM",
        "unheard-of": "UnheardOfForCausalLM",
    }
    for name, architecture in architectures.items():
        (root / name).mkdir()
        (root / name / "config.json").write_text(json.dumps({"architectures": [architecture], "model_type": name}))
    return {name: str(root / name) for name in (*architectures, "missing")}


class Standin:
    """A started stand-in. Everything waits for an event and fails, with the log, when that does not come."""

    def __init__(self, arguments: list[str], environ: dict[str, str], port: int):
        self.port = port
        self.log: list[str] = []
        self._news: queue.Queue = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sglang.launch_server", *arguments, "--port", str(port)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(STANDIN), "STANDIN_LOAD_SECONDS": "0.1", **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._news.put(line.rstrip("\n"))
        self._news.put(None)

    def wait_for(self, text: str) -> str:
        """The first line, not yet waited for, that has ``text`` in it."""
        until = time.monotonic() + DEADLINE
        while time.monotonic() < until:
            try:
                line = self._news.get(timeout=until - time.monotonic())
            except queue.Empty:
                break
            if line is None:
                self._news.put(None)
                break
            self.log.append(line)
            if text in line:
                return line
        pytest.fail(f"{text!r} never came; the log is\n" + "\n".join(self.log))

    def wait_for_end(self) -> int:
        """The exit code; the whole log is then in ``log``."""
        code = self.process.wait(DEADLINE)
        while True:
            line = self._news.get(timeout=DEADLINE)
            if line is None:
                self._news.put(None)
                return code
            self.log.append(line)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait_for_end()

    def ask(self, path: str, body: dict | None = None, key: str | None = None, timeout: float = DEADLINE):
        """Status and body, the body parsed if it is JSON. Raises OSError when nobody listens or answers."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return response.status, parsed(response.read())
        except urllib.error.HTTPError as error:
            return error.code, parsed(error.read())

    def status(self, path: str, key: str | None = None) -> int:
        return self.ask(path, key=key)[0]

    def generate(self, prompt: str = "Hello world", tokens: int = 64, timeout: float = DEADLINE) -> dict:
        sampling = {"temperature": 0, "max_new_tokens": tokens}
        return self.ask("/generate", {"text": prompt, "sampling_params": sampling}, timeout=timeout)[1]


def parsed(body: bytes):
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def start(model):
    """``start(*flags, release=..., fault=..., mtp=True, **environ)``; whatever still runs is ended afterwards."""
    started: list[Standin] = []

    def start(*flags: str, release="0.5.23", fault="", mtp=True, port=None, target="target", **environ: str) -> Standin:
        speculation = ["--speculative-algorithm", "NEXTN", "--speculative-draft-model-path", model["draft"]]
        arguments = ["--model-path", model[target], *(speculation if mtp else []), *flags]
        environ = {"STANDIN_SGLANG_VERSION": release, "STANDIN_FAULT": fault, **environ}
        started.append(Standin(arguments, environ, port or free_port()))
        return started[-1]

    yield start
    for standin in started:
        standin.process.kill()
        standin.process.wait(DEADLINE)


@pytest.fixture
def ready(start):
    """Like ``start``, but the server is ready when it is returned."""

    def ready(*flags: str, **words) -> Standin:
        standin = start(*flags, **words)
        standin.wait_for(READY)
        return standin

    return ready
