# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``systemctl`` of a modelled node: one service, whose process is a sleeping one with the unit's fingerprint.

It keeps in the node's folder: ``running.json`` (process, invocation, the text of the unit it was started from) and
``faults`` (what no rollout may do to a server).
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

NODE = pathlib.Path(os.environ["SCRIPTED_HOST"])
RUNNING = NODE / "running.json"
FINGERPRINT = "Environment=LLMOPS_SGLANG_UNIT="
# A server that a test forgets ends by itself.
LIFE_SECONDS = 300


def main(verb, *rest):
    if verb == "show":
        show(rest)
    elif verb == "start":
        start(NODE / "units" / rest[-1])
    elif verb == "stop":
        stop()
    elif verb == "is-enabled":
        print("enabled")


def show(options):
    if not any("InvocationID" in option for option in options):
        return
    running = json.loads(RUNNING.read_text()) if RUNNING.exists() else {}
    print("LoadState=loaded")
    print("ActiveState=%s" % ("active" if running else "inactive"))
    print("SubState=%s" % ("running" if running else "dead"))
    print("InvocationID=%s" % running.get("invocation_id", ""))
    print("MainPID=%d" % running.get("pid", 0))
    print("ExecMainStartTimestampMonotonic=%d" % (running.get("started", 0) * 1e6))


def start(unit):
    if RUNNING.exists():
        return
    text = unit.read_text()
    lines = [line[len("Environment=") :] for line in text.splitlines() if line.startswith(FINGERPRINT)]
    environment = dict([line.split("=", 1) for line in lines])
    server = subprocess.Popen(
        ["/bin/sleep", str(LIFE_SECONDS)],
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    running = {"pid": server.pid, "invocation_id": uuid.uuid4().hex, "started": time.monotonic(), "unit": text}
    RUNNING.write_text(json.dumps(running))


def stop():
    if not RUNNING.exists():
        return
    if (NODE / "in_router").exists():
        with open(NODE / "faults", "a") as faults:
            faults.write("stopped while a router sent it requests\n")
    os.kill(json.loads(RUNNING.read_text())["pid"], signal.SIGKILL)
    RUNNING.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
