# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One start of the SGLang stand-in, written down: its lines with their moments, and its answers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

STANDIN = pathlib.Path(__file__).resolve().parents[2] / "standin"
RELEASE = "0.5.23"
LISTENS = "Uvicorn running on"
READY = "The server is fired up and ready to roll!"
LOAD_SECONDS = 1
LONGEST_START = 60
QUESTION = {"text": "Numbers in order:", "sampling_params": {"temperature": 0, "max_new_tokens": 128}}


@dataclasses.dataclass(frozen=True)
class Recording:
    """``lines`` are pairs of a moment and a text; the moments go from 0 to 1, when the server is ready.

    ``listens`` is the moment from which its port is open. ``answers`` maps a path to the body of its 200.
    """

    lines: list
    listens: float
    answers: dict


async def record(arguments, environment):
    """Start the stand-in with a server's command line and environment, listen until it is ready, ask it, end it.

    :arg arguments: the words after ``sglang.launch_server``.
    """
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "sglang.launch_server",
        *arguments,
        env=dict(
            environment,
            PATH=os.environ["PATH"],
            PYTHONPATH=str(STANDIN),
            STANDIN_SGLANG_VERSION=RELEASE,
            STANDIN_LOAD_SECONDS=str(LOAD_SECONDS),
        ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=1 << 20,
    )
    try:
        lines = await asyncio.wait_for(lines_until_ready(server), LONGEST_START)
        answers = await asyncio.to_thread(ask, "http://127.0.0.1:%s" % port_of(arguments))
    finally:
        server.kill()
        await server.wait()
    whole = lines[-1][0]
    listens = next(moment for moment, text in lines if LISTENS in text)
    return Recording([(moment / whole, text) for moment, text in lines], listens / whole, answers)


async def lines_until_ready(server):
    loop = asyncio.get_running_loop()
    begin = loop.time()
    lines = []
    async for line in server.stdout:
        lines.append((loop.time() - begin, line.decode().rstrip("\n")))
        if READY in lines[-1][1]:
            return lines
    raise RuntimeError("The stand-in ended before it was ready: %s" % lines[-1:])


def port_of(arguments):
    return arguments[arguments.index("--port") + 1]


def ask(url):
    """What it answers with 200, by path."""
    question = json.dumps(QUESTION).encode()
    bodies = {"/generate": body(url + "/generate", question)}
    for path in ("/health", "/server_info", "/get_server_info", "/v1/loads", "/metrics"):
        bodies[path] = body(url + path)
    return {path: answer for path, answer in bodies.items() if answer is not None}


def body(url, content=None):
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()
    except urllib.error.HTTPError:
        return None
