# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of whole modules need: a module's run in this process, and servers that are really started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

STANDIN = Path(__file__).resolve().parents[3] / "standin"
DEADLINE = 20.0


@pytest.fixture
def run_module(capsys):
    """A function that runs a module's ``main`` with options and returns its result; ``failed`` is always in it."""

    def run(main, check_mode=False, **options):
        capsys.readouterr()
        with patch_module_args(dict(options, _ansible_check_mode=check_mode)), pytest.raises(SystemExit):
            main()
        return dict({"failed": False}, **json.loads(capsys.readouterr().out))

    return run


class Server:
    """A started stand-in."""

    def __init__(self, port, process):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    def wait_until_it_listens(self):
        until = time.monotonic() + DEADLINE
        while time.monotonic() < until:
            assert self.process.poll() is None, "the stand-in ended"
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        pytest.fail("the stand-in does not listen")

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)


class Starter:
    """Starts stand-ins; ends whatever still runs."""

    def __init__(self, folder):
        self._folder = folder
        self._started = []
        for name in ("target", "draft"):
            (folder / name).mkdir()
            config = {"architectures": ["Qwen3_5MoeForConditionalGeneration"]}
            (folder / name / "config.json").write_text(json.dumps(config))

    def start(self, *flags, mtp=True, release="0.5.23", fault="", port=None, **environ):
        """A stand-in whose port is open already; ``environ`` are its further settings."""
        port = port or free_port()
        command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(self._folder / "target")]
        command += ["--port", str(port), *flags]
        if mtp:
            command += ["--speculative-algorithm", "NEXTN"]
            command += ["--speculative-draft-model-path", str(self._folder / "draft")]
        settings = {"STANDIN_SGLANG_VERSION": release, "STANDIN_FAULT": fault, "STANDIN_LOAD_SECONDS": "0.1"}
        process = subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(STANDIN), **settings, **environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(Server(port, process))
        return self._started[-1].wait_until_it_listens()

    def end(self):
        for server in self._started:
            server.kill()


@pytest.fixture
def start_server(tmp_path):
    """:meth:`Starter.start` for one test."""
    starter = Starter(tmp_path)
    yield starter.start
    starter.end()


@pytest.fixture(scope="session")
def mtp_server(tmp_path_factory):
    """A server with MTP that is well, for tests that change nothing about it."""
    starter = Starter(tmp_path_factory.mktemp("server"))
    yield starter.start()
    starter.end()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def closed_port():
    """The URL of a port on which nobody listens."""
    return f"http://127.0.0.1:{free_port()}"
