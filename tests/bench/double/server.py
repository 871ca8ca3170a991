# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTTP side of a modelled host: closed while the model loads, then 503, then the recorded answers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time


class Server:
    """What listens on one host's port. The port is held while nothing listens: other fleets run on this machine."""

    def __init__(self, port):
        self._port = port
        self._socket = bound(port)
        self._opening = None
        self._ready = 0.0
        self._answers = {}

    def start(self, listens, ready, answers):
        """Open the port at the moment ``listens``, answer with 200 from ``ready`` on (monotonic seconds)."""
        self._ready = ready
        self._answers = answers
        self._opening = asyncio.create_task(self._listen(listens))

    async def stop(self):
        if self._opening:
            self._opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._opening
            self._opening = None
            self._socket.close()
            self._socket = bound(self._port)

    async def _listen(self, moment):
        await asyncio.sleep(max(0.0, moment - time.monotonic()))
        listener = await asyncio.start_server(self._answer, sock=self._socket, backlog=16)
        try:
            await asyncio.Event().wait()
        finally:
            listener.close()

    async def _answer(self, reader, writer):
        """One request, one answer. A client that leaves early is nobody's concern."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1].partition("?")[0]
            await reader.readexactly(content_length(head))
            status, body = self._decide(path)
            lines = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            writer.write((lines % (status, len(body))).encode() + body)
            await writer.drain()
        writer.close()

    def _decide(self, path):
        if path not in self._answers:
            return "404 Not Found", b'{"detail":"Not Found"}'
        if path in ("/health", "/generate") and time.monotonic() < self._ready:
            return "503 Service Unavailable", b""
        return "200 OK", self._answers[path]


def bound(port):
    """A socket that keeps the port for this host and lets nobody connect, as long as it does not listen."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("0.0.0.0", port))
    return held


def content_length(head):
    for line in head.split("\r\n"):
        name, _colon, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0
