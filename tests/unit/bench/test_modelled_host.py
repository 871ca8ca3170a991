from __future__ import annotations

import asyncio
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from double import host as modelled
from double import recording

RECORDING = recording.Recording([(0.0, "loads"), (0.5, "listens"), (1.0, "ready")], 0.5, {"/health": b""})
UNIT = "[Service]\nEnvironment=A=1 B=2\nExecStart=/venv/bin/python -m sglang.launch_server \\\n  --port %d\n"


@pytest.fixture
def started(tmp_path, unused_port):
    """What a started host with a load of 1000 s answers: ``(systemctl, journalctl)``."""
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / modelled.UNIT).write_text(UNIT % unused_port)
    commands = []

    async def record(arguments, environment):
        commands.append((arguments, environment))
        return RECORDING

    async def talk(*calls, age_is_load=False):
        host = modelled.Host(tmp_path, unused_port, 1000, record)
        await (host.begin() if age_is_load else host.systemctl(["start", modelled.UNIT]))
        answers = [await call(host) for call in calls]
        await host.systemctl(["stop", modelled.UNIT])
        return answers

    talk.commands = commands
    return talk


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def journal_of(host, *options):
    _status, shown = await host.systemctl(["show", "--property=InvocationID", "--value", modelled.UNIT])
    lines = []

    async def write(line):
        lines.append(line)

    await host.journalctl([*options, "_SYSTEMD_INVOCATION_ID=" + shown.strip()], write)
    return lines


def test_a_start_is_recorded_for_the_command_line_and_the_environment_of_the_unit(started, unused_port):
    asyncio.run(started())
    assert started.commands == [(["--port", str(unused_port)], {"A": "1", "B": "2"})]


def test_the_journal_of_a_server_that_loads_holds_what_it_has_printed_so_far(started):
    (lines,) = asyncio.run(started(lambda host: journal_of(host, "--output=cat")))
    assert lines == ["Started sglang.service - SGLang server.\n", "loads\n"]


def test_the_journal_of_a_server_that_is_ready_is_whole(started):
    (lines,) = asyncio.run(started(lambda host: journal_of(host, "--output=json"), age_is_load=True))
    assert [json.loads(line)["MESSAGE"] for line in lines][1:] == ["loads", "listens", "ready"]


def test_another_instance_has_another_invocation_id(started):
    show = ["show", "--property=InvocationID,ActiveState", modelled.UNIT]

    async def restarted(host):
        before = await host.systemctl(show)
        await host.systemctl(["restart", modelled.UNIT])
        return before, await host.systemctl(show)

    ((before, after),) = asyncio.run(started(restarted))
    assert "ActiveState=active" in before[1]
    assert "ActiveState=active" in after[1]
    assert before != after
