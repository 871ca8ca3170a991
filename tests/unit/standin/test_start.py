# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the start to the stop of a healthy server: the order of its lines, and its statuses over time."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.request

import pytest

READY = "The server is fired up and ready to roll!"
MILESTONES = (
    "server_args=",
    "Init parallel begin.",
    "Init parallel ends.",
    "Load weight begin.",
    "Load weight end.",
    "KV Cache is allocated.",
    "Memory pool end.",
    "max_total_num_tokens=",
    "INFO:     Started server process",
    "INFO:     Waiting for application startup.",
    "INFO:     Application startup complete.",
    "INFO:     Uvicorn running on",
    "Prefill batch",
    '"POST /generate',
    '"POST /v1/chat/completions',
    '"POST /freeze_gc',
    READY,
    "Dummy health check server started",
    "SIGTERM received on node_rank",
    "Scheduler or DataParallelController",
    "Scheduler hit an exception: Traceback",
    "Received sigquit from a child process.",
)


def milestones(lines: list[str], tag: str = "") -> list[str]:
    """What happened until the server was ready, or dead, in the order of the log of one rank and its main process."""
    seen = []
    for line in lines:
        rank = re.match(r"\[[^]]*? (TP\d+)]", line)
        if rank and tag and rank.group(1) != tag:
            continue
        seen += [milestone for milestone in MILESTONES if milestone in line]
        if READY in line:
            break
    return seen


def captured_lines(captured, name: str) -> list[str]:
    return (captured / name).read_text().splitlines()


@pytest.mark.parametrize(
    "name, target, flags, mtp",
    [
        ("0.5.12-realserver-cpu-nospec.log", "dense", [], False),
        ("0.5.18-realserver-nextn.log", "target", ["--disable-radix-cache"], True),
        ("0.5.23-realserver-cpu-nextn.log", "target", ["--disable-radix-cache"], True),
    ],
)
def test_events_come_in_the_captured_order(captured, ready, name, target, flags, mtp):
    standin = ready(*flags, release=name.partition("-")[0], target=target, mtp=mtp)
    assert milestones(standin.log) == milestones(captured_lines(captured, name))


@pytest.mark.parametrize("tag", ["TP0", "TP1"])
def test_each_rank_loads_in_the_captured_order(captured, ready, tag):
    keys = ["--api-key", "userkey", "--admin-api-key", "adminkey"]
    standin = ready("--tp-size", "2", *keys)
    real = captured_lines(captured, "0.5.23-realserver-nextn-tp2-keys.log")
    assert milestones(standin.log, tag) == milestones(real, tag)


def test_each_node_of_a_group_loads_and_stops_in_the_captured_order(captured, start, port):
    group = ["--disable-radix-cache", "--tp-size", "2", "--nnodes", "2", "--dist-init-addr", f"127.0.0.1:{port}"]
    head, follower = nodes = [start(*group, "--node-rank", str(rank)) for rank in (0, 1)]
    head.wait_for(READY)
    follower.wait_for("Dummy health check server")
    follower.process.terminate()
    follower.wait_for("SIGTERM received on node_rank")
    assert [head.stop(), follower.wait_for_end()] == [0, 0]
    for rank, node in enumerate(nodes):
        real = captured_lines(captured, f"0.5.23-realserver-two-nodes-{rank}.log")
        assert milestones(node.log) == milestones(real)


def test_a_crash_after_the_draft_load_looks_as_captured(captured, start):
    standin = start("--disable-radix-cache", release="0.5.12", fault="crash-after-draft-load")
    assert standin.wait_for_end() == -9
    real = captured_lines(captured, "0.5.12-realserver-nextn-crash-after-draft-load.log")
    assert milestones(standin.log) == milestones(real)
    begin = next(place for place, line in enumerate(real) if "Scheduler hit an exception" in line)
    last = next(place for place, line in enumerate(standin.log) if "Scheduler hit an exception" in line)
    assert standin.log[last + 1: last + 24] == real[begin + 1: begin + 24]


def test_statuses_over_time(start):
    """Refused while loading, then 503 beside 200, then 200: hung in the warm-up to look at the middle."""
    loading = start(fault="stuck-loading")
    loading.wait_for("Load weight begin")
    with pytest.raises(OSError):
        loading.status("/health")

    warming = start(fault="never-ready")
    warming.wait_for("GET /model_info")
    paths = ("/health", "/health_generate", "/ready", "/model_info", "/server_info", "/v1/models")
    assert [warming.status(path) for path in paths] == [503, 503, 503, 200, 200, 200]


@pytest.mark.parametrize("release, ready_status, get_load", [("0.5.12", 404, 200), ("0.5.23", 200, 404)])
def test_endpoints_of_a_ready_server(ready, release, ready_status, get_load):
    extra_buffer = ["--mamba-scheduler-strategy", "extra_buffer"] if release == "0.5.12" else []
    standin = ready("--enable-metrics", *extra_buffer, release=release)
    for path in ("/health", "/health_generate", "/model_info", "/server_info", "/v1/models", "/v1/loads", "/metrics"):
        assert standin.status(path) == 200, path
    assert standin.status("/ready") == ready_status
    assert standin.status("/get_load") == get_load
    assert standin.status("/nowhere") == 404
    assert standin.status("/get_server_info") == 200
    standin.wait_for("Endpoint '/get_server_info' is deprecated and will be removed in a future version.")
    assert re.search(r'INFO:     127\.0\.0\.1:\d+ - "GET /get_server_info HTTP/1.1" 200 OK', standin.wait_for("200 OK"))


def test_metrics_need_their_flag(ready):
    assert ready().status("/metrics") == 404


def test_sigterm_ends_a_server_in_order(ready):
    standin = ready()
    assert standin.stop() == 0
    farewell = [line.partition("] ")[2] for line in standin.log[-7:]]
    pid = standin.process.pid
    assert farewell == [
        "SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
        "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].",
        f"kill_process_tree called: parent_pid={pid}, include_parent=False, pid={pid}",
        "INFO:     Shutting down",
        "INFO:     Waiting for application shutdown.",
        "INFO:     Application shutdown complete.",
        f"INFO:     Finished server process [{pid}]",
    ]


def test_sigterm_waits_for_a_running_request(ready):
    standin = ready(STANDIN_TOKENS_PER_SECOND="40", mtp=False)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(standin.generate(tokens=32)))
    asking.start()
    standin.wait_for("Prefill batch")
    assert standin.stop() == 0
    asking.join(20)
    assert answers[0]["meta_info"]["completion_tokens"] == 32


def test_skipped_warm_up_is_ready_without_a_generation(ready):
    standin = ready("--skip-server-warmup")
    assert not [line for line in standin.log if "POST" in line]
    assert standin.status("/health") == 200


def test_log_level_warning_hides_the_evidence(start):
    standin = start("--log-level", "warning")
    standin.wait_for("Max running requests is reset to 48")
    standin.stop()
    assert not [line for line in standin.log if "server_args" in line or "Load weight" in line or READY in line]


def test_a_port_of_another_server_looks_ready_and_ends_with_3(ready, start):
    owner = ready(mtp=False)
    newcomer = start(port=owner.port)
    assert newcomer.wait_for_end() == 3
    bind_error = f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {owner.port})"
    ends = [line for line in newcomer.log if "Errno 98" in line or READY in line]
    assert bind_error in ends[0] and READY in ends[1]
    assert owner.status("/health") == 200


def test_a_port_of_something_silent_leaves_a_server_that_serves_nothing(start):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        standin = start(port=silent.getsockname()[1])
        standin.wait_for("address already in use")
        connection, _address = silent.accept()
        with connection:
            assert b"GET /model_info" in connection.recv(1000)
            standin.process.terminate()
            with pytest.raises(subprocess.TimeoutExpired):
                standin.process.wait(0.3)


def test_processes_sleep_beside_the_server_and_end_with_it(ready):
    standin = ready("--tp-size", "2", STANDIN_PROCESSES="1")
    children = f"/proc/{standin.process.pid}/task/{standin.process.pid}/children"
    with open(children, encoding="ascii") as file:
        pids = file.read().split()
    names = []
    for pid in pids:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            names.append(file.read().partition("\0")[0])
    assert names == ["sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::detokenizer"]
    assert standin.stop() == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls(ready, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    standin = ready("--ssl-certfile", str(certificate), "--ssl-keyfile", str(key))
    context = ssl.create_default_context(cafile=str(certificate))
    with urllib.request.urlopen(f"https://127.0.0.1:{standin.port}/health", context=context, timeout=20) as response:
        assert response.status == 200
