# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One modelled host: the unit on its disk, the instance that runs, what systemctl and journalctl say of them."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
import uuid

from double.server import Server

UNIT = "sglang.service"
SERVER = "sglang.launch_server"
INVOCATION_MATCH = "_SYSTEMD_INVOCATION_ID="


class Instance:
    """One start of the service. ``began`` and ``ready`` are moments of the monotonic clock."""

    def __init__(self, recording, load_seconds, age=0.0):
        self.id = uuid.uuid4().hex
        self.began = time.monotonic() - age
        self._wall = time.time() - age
        self.listens = self.began + recording.listens * load_seconds
        self.ready = self.began + load_seconds
        self.records = [self._record_of_systemd()]
        self.records += [
            self._record(number, moment * load_seconds, text)
            for number, (moment, text) in enumerate(recording.lines, 1)
        ]

    def _record_of_systemd(self):
        fields = {"_PID": "1", "INVOCATION_ID": self.id, "UNIT": UNIT}
        return self._record(0, 0.0, "Started %s - SGLang server." % UNIT, fields)

    def _record(self, number, seconds, text, fields=None):
        """``(moment, text, journal entry as a line of JSON)``."""
        entry = {
            "__CURSOR": "s=%s;i=%x" % (self.id, number),
            "__REALTIME_TIMESTAMP": str(int((self._wall + seconds) * 1e6)),
            "MESSAGE": text,
            **(fields or {"_PID": str(os.getpid()), "_SYSTEMD_INVOCATION_ID": self.id, "_STREAM_ID": self.id}),
        }
        return self.began + seconds, text, json.dumps(entry)


class Host:
    """A host in its folder. ``record`` gives the :class:`recording.Recording` for a command line."""

    def __init__(self, folder, port, load_seconds, record):
        self._unit = folder / "units" / UNIT
        self._server = Server(port)
        self._load_seconds = load_seconds
        self._record = record
        self._instances = {}
        self._running = None

    async def begin(self):
        """The server of the unit on disk has run for a while."""
        await self._start(age=self._load_seconds)

    async def systemctl(self, arguments):
        """``(exit status, output)``."""
        words = [word for word in arguments if not word.startswith("--")]
        verb = words[0]
        if verb == "show":
            return 0, self._show(arguments)
        if verb in ("stop", "restart"):
            await self._stop()
        if verb in ("start", "restart") and not self._running:
            await self._start()
        return 0, "enabled\n" if verb == "is-enabled" else ""

    async def journalctl(self, arguments, write):
        """Give ``write`` the records that are asked for, and those to come while ``--follow`` is asked for."""
        matches = [word for word in arguments if word.startswith(INVOCATION_MATCH)]
        instance = self._instances.get(matches[0][len(INVOCATION_MATCH) :]) if matches else None
        column = 2 if "--output=json" in arguments else 1
        follows = "--follow" in arguments
        for record in instance.records if instance else ():
            late = time.monotonic() - record[0]
            if late < 0 and not follows:
                break
            if "--lines=0" in arguments and late > 0:
                continue
            if late < 0:
                await asyncio.sleep(-late)
            await write(record[column] + "\n")
        return follows

    async def _start(self, age=0.0):
        recording = await self._record(*self._command())
        self._running = Instance(recording, self._load_seconds, age)
        self._instances[self._running.id] = self._running
        self._server.start(self._running.listens, self._running.ready, recording.answers)

    async def _stop(self):
        self._running = None
        await self._server.stop()

    def _command(self):
        """``(words after the server's module, environment)`` of the unit on disk."""
        lines = self._unit.read_text().replace("\\\n", " ").splitlines()
        settings = [word for line in lines if line.startswith("Environment=") for word in shlex.split(line[12:])]
        command = next(line for line in lines if line.startswith("ExecStart="))
        return shlex.split(command.partition(SERVER)[2]), dict(word.split("=", 1) for word in settings)

    def _show(self, arguments):
        running = self._running
        properties = {
            "LoadState": "loaded",
            "ActiveState": "active" if running else "inactive",
            "SubState": "running" if running else "dead",
            "Result": "success",
            "InvocationID": running.id if running else "",
            "MainPID": os.getpid() if running else 0,
            "NRestarts": 0,
            "ExecMainStartTimestampMonotonic": int(running.began * 1e6) if running else 0,
            "FragmentPath": self._unit,
            "NeedDaemonReload": "no",
            "StandardOutput": "journal",
            "DropInPaths": "",
        }
        asked = [word.partition("=")[2].split(",") for word in arguments if word.startswith("--property=")]
        names = [name for name in asked[0] if name in properties] if asked else properties
        line = "{1}\n" if "--value" in arguments else "{0}={1}\n"
        return "".join(line.format(name, properties[name]) for name in names)
