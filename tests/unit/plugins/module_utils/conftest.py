# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers for the tests of what asks servers: one that speaks HTTP, and one that does something else."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="session")
def fixtures():
    return FIXTURES


class HttpDouble:
    """Answers ``answers[path]``, a status or a ``(status, body)``; 404 elsewhere. Remembers what it was asked."""

    def __init__(self, answers, tls):
        self.answers = answers
        self.requests = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(str(FIXTURES / "tls" / "server.pem"))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = "%s://127.0.0.1:%d" % ("https" if tls else "http", self.port)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                double.requests.append((self.path, dict(self.headers), self.rfile.read(length)))
                answer = double.answers.get(self.path, 404)
                status, body = answer if isinstance(answer, tuple) else (answer, b"")
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_DELETE = do_GET

            def log_message(self, *_arguments):
                pass

        return Handler


@pytest.fixture
def http_double():
    """A function that starts an :class:`HttpDouble`."""
    started = []

    def start(answers, tls=False):
        started.append(HttpDouble(answers, tls))
        return started[-1]

    yield start
    for double in started:
        double.close()


@pytest.fixture
def raw_server():
    """A function that starts a server which sends ``greeting`` to whoever connects, then hangs up or says no more."""
    listeners = []

    def start(greeting=b"", hang_up=False):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        connections = []

        def serve():
            while True:
                try:
                    connection, _address = listener.accept()
                except OSError:
                    return
                connection.sendall(greeting)
                if hang_up:
                    connection.close()
                connections.append(connection)

        threading.Thread(target=serve, daemon=True).start()
        return "http://127.0.0.1:%d" % listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.close()


@pytest.fixture
def closed_port():
    """The URL of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return "http://127.0.0.1:%d" % port
