# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole fleet in one process: systemd, the journal and the SGLang server of every host below a folder.

    python -m double FOLDER LOAD_SECONDS

FOLDER is laid out by host_folders.py. The programs of a host ask it over a socket, so that what it does is not in the
account of the run that is measured. It prints ``ready`` when the server of every host runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import sys

from double.host import Host
from double.recording import record


class Fleet:
    """The hosts, and the starts that were recorded for their command lines."""

    def __init__(self, folder, load_seconds):
        self._recordings = {}
        self._recording = asyncio.Lock()
        plan = json.loads((folder / "fleet.json").read_text())
        self._port = plan["port"]
        self._spare_port = str(plan["spare_port"])
        self._hosts = {
            name: Host(folder / "hosts" / name, port, load_seconds, self._recorded)
            for name, port in plan["hosts"].items()
        }

    async def run(self):
        for host in self._hosts.values():
            await host.begin()
        programs = await asyncio.start_server(self._serve_program, "127.0.0.1", self._port, backlog=256)
        print("ready", flush=True)
        await programs.serve_forever()

    async def _recorded(self, arguments, environment):
        """Servers whose command lines differ by their port alone share one recording."""
        arguments = list(arguments)
        arguments[arguments.index("--port") + 1] = self._spare_port
        key = tuple(arguments)
        async with self._recording:
            if key not in self._recordings:
                self._recordings[key] = await record(arguments, environment)
        return self._recordings[key]

    async def _serve_program(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            line = (await reader.readline()).decode()
            name, program, *arguments = line.rstrip("\n").rstrip("\t").split("\t")
            host = self._hosts[name]
            if program == "journalctl":
                await self._serve_journal(host, arguments, reader, writer)
            else:
                status, output = await host.systemctl(arguments) if program == "systemctl" else (0, "")
                writer.write(("%d\n%s" % (status, output)).encode())
        writer.close()

    async def _serve_journal(self, host, arguments, reader, writer):
        async def write(line):
            writer.write(line.encode())
            await writer.drain()

        await write("0\n")
        if await host.journalctl(arguments, write):
            # Nothing more comes; the reader ends it.
            await reader.read()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Fleet(pathlib.Path(sys.argv[1]), float(sys.argv[2])).run())
