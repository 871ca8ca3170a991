# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One process that serves HTTP: started, waited for, stopped. Every wait ends."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import time

START_SECONDS = 60
STOP_SECONDS = 10
LOOK_SECONDS = 0.05


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Served:
    """A process and its port.

    ``argv`` and ``environment`` are given anew for each start; its output is appended to ``log``.
    """

    def __init__(self, log, port=None):
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._process = None

    @property
    def output(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def launch(self, argv, environment, path, key=""):
        """Start it, and wait until it answers 200 on ``path``."""
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **environment}
            )
        self.wait_until(lambda: self.status(path, key) == 200)

    def wait_until(self, happened):
        """Wait until ``happened()``, as long as the process lives."""
        end = time.monotonic() + START_SECONDS
        while not happened():
            assert self._process.poll() is None, f"it ended: {self.output[-1500:]}"
            assert time.monotonic() < end, f"it is not there after {START_SECONDS} s: {self.output[-1500:]}"
            time.sleep(LOOK_SECONDS)

    def status(self, path, key=""):
        """The HTTP status of a GET; 0 while nothing answers."""
        return self.ask("GET", path, key)[0]

    def ask(self, method, path, key="", timeout=30):
        """``(status, body)``; ``(0, "")`` while nothing answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, headers={"Authorization": f"Bearer {key}"} if key else {})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def kill(self):
        if self._process:
            self._process.kill()
            self._process.wait(STOP_SECONDS)
            self._process = None

    def stop(self, grace=STOP_SECONDS):
        """What ``systemctl stop`` does: SIGTERM, and SIGKILL when it has not ended after ``grace`` seconds."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None
