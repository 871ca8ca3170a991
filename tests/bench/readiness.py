# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long after a server's own "ready" its readiness is seen: by server_ready's wait, and by a loop every 10 s.

Both watch the same starts of the stand-in at the same time. Run it in the Python of .venv, with the collection on
PYTHONPATH (`make collection` lays it out).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import requests
from ansible_collections.llmops.sglang.plugins.module_utils.readiness_wait import ReadinessWait
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi

STANDIN = pathlib.Path(__file__).resolve().parents[1] / "standin"
READY = "The server is fired up and ready to roll!"
LONGEST_START = 60
LIMIT = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=5, help="how many starts to watch")
    parser.add_argument("--check", action="store_true", help="exit with 1 when server_ready is later than %s s" % LIMIT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text('{"architectures": ["Qwen3_5MoeForConditionalGeneration"]}')
        delays = [watch_one_start(folder) for _start in range(options.starts)]
    for number, name in enumerate(("server_ready", "a loop every 10 s")):
        late = [delay[number] for delay in delays]
        print("%-18s median %5.2f s after ready, worst %5.2f s" % (name, statistics.median(late), max(late)))
    return 1 if options.check and max(delay[0] for delay in delays) > LIMIT else 0


def watch_one_start(model):
    """Seconds from the server's own "ready" to its being seen, by ``server_ready`` and by the loop."""
    port = free_port()
    url = "http://127.0.0.1:%d" % port
    server = start_server(model, port, load_seconds=random.uniform(2, 12))
    seen = {}
    watchers = [
        threading.Thread(target=note, args=(seen, "wait", wait_for, url)),
        threading.Thread(target=note, args=(seen, "loop", poll_every_10_s, url)),
    ]
    for watcher in watchers:
        watcher.start()
    try:
        until_it_says_ready(server)
        ready = time.monotonic()
        for watcher in watchers:
            watcher.join(LONGEST_START)
    finally:
        server.kill()
        server.wait()
    return seen["wait"] - ready, seen["loop"] - ready


def note(seen, name, watch, url):
    watch(url)
    seen[name] = time.monotonic()


def wait_for(url):
    ReadinessWait(ServerApi(url), "/health", timeout=LONGEST_START).run()


def poll_every_10_s(url):
    until = time.monotonic() + LONGEST_START
    while time.monotonic() < until:
        try:
            if requests.get(url + "/health", timeout=5).status_code == 200:
                return
        except requests.RequestException:
            pass
        time.sleep(10)


def until_it_says_ready(server):
    for line in server.stdout:
        if READY in line:
            # The pipe must not fill up while the watchers go on.
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return
    raise SystemExit("the stand-in ended before it was ready")


def start_server(model, port, load_seconds):
    return subprocess.Popen(
        [sys.executable, "-m", "sglang.launch_server", "--model-path", model, "--port", str(port)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(STANDIN), "STANDIN_LOAD_SECONDS": str(load_seconds)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
