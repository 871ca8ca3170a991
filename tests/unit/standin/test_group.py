# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two processes that are one server: they load together, one of them serves, and they end together."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

STANDIN = Path(__file__).resolve().parents[2] / "standin"
READY = "The server is fired up and ready to roll!"
FOLLOWS = "Dummy health check server started in background thread at 127.0.0.1:"


@pytest.fixture
def start_node(start, port):
    """``start_node(0)`` or ``start_node(1)``: a node of the same group of two, with two of its four ranks."""

    def start_node(node: int, **words):
        group = ["--tp-size", "4", "--nnodes", "2", "--node-rank", str(node), "--dist-init-addr", f"127.0.0.1:{port}"]
        return start(*group, **words)

    return start_node


@pytest.fixture
def group(start_node):
    """Both nodes, ready."""
    follower, head = start_node(1), start_node(0)
    follower.wait_for(FOLLOWS)
    head.wait_for(READY)
    return head, follower


# Runs in the server before all else, as its sitecustomize.
INTERRUPT = """
import signal, sys


class Interrupted:
    struck = False

    def write(self, text):
        sys.__stderr__.write(text)
        if {words!r} in text and not self.struck:
            self.struck = True
            signal.raise_signal(signal.SIGTERM)

    def flush(self):
        sys.__stderr__.flush()


sys.stderr = Interrupted()
"""


@pytest.fixture
def interrupted_at(tmp_path):
    """``interrupted_at(words)``: a PYTHONPATH with which SIGTERM comes in the midst of writing a line with them."""

    def interrupted_at(words: str) -> str:
        (tmp_path / "sitecustomize.py").write_text(INTERRUPT.format(words=words))
        return f"{tmp_path}:{STANDIN}"

    return interrupted_at


def banner(node) -> dict:
    return ast.literal_eval(next(line for line in node.log if "server_args=" in line).partition("server_args=")[2])


def drafts(node) -> list[str]:
    return [re.search(r"TP\d", line).group() for line in node.log if "Qwen3_5ForCausalLMMTP" in line]


def test_each_node_tells_of_itself_and_node_0_serves(group):
    head, follower = group
    assert [banner(node)["node_rank"] for node in group] == [0, 1]
    assert [drafts(node) for node in group] == [["TP0", "TP1"], ["TP2", "TP3"]]
    assert head.generate()["meta_info"]["spec_verify_ct"] > 0
    paths = ("/health", "/health_generate", "/ping", "/ready", "/server_info", "/v1/models")
    assert [follower.status(path) for path in paths] == [200, 200, 200, 404, 404, 404]
    assert head.status("/health") == 200


def test_what_node_0_says_for_all_no_other_says(group):
    head, follower = group
    head.stop()
    follower.wait_for_end()
    for words in (READY, "max_total_num_tokens=", "loading shards", "Prefill batch", "INFO:     Uvicorn"):
        assert [any(words in line for line in node.log) for node in group] == [True, False], words


@pytest.mark.parametrize("dies, is_left", [(0, 1), (1, 0)])
def test_when_a_node_dies_the_other_dies_too(group, dies, is_left):
    group[dies].process.kill()
    left = group[is_left]
    assert left.wait_for_end() == -9
    assert any(line.startswith("RuntimeError: [") and "gloo" in line for line in left.log)
    last_words = ("SIGQUIT received.", "Received sigquit from a child process.")[is_left]
    assert any(last_words in line for line in left.log)


def test_a_node_that_dies_while_it_loads_takes_the_other_with_it(start_node):
    head, follower = start_node(0, STANDIN_LOAD_SECONDS="10"), start_node(1, fault="crash-after-draft-load")
    assert (head.wait_for_end(), follower.wait_for_end()) == (-9, -9)
    assert any("gloo" in line for line in head.log) and not any(READY in line for line in head.log)


def test_nodes_of_which_one_speculates_hang_while_they_load(start_node):
    head, follower = start_node(0), start_node(1, mtp=False)
    for node in (head, follower):
        node.wait_for("Load weight end.")
    head.wait_for("TP1] Load weight begin.")
    head.process.kill()
    assert follower.wait_for_end() == -9
    assert drafts(head) == drafts(follower) == []
    assert not [line for line in follower.log if "KV Cache" in line or FOLLOWS in line]


def test_node_0_stops_in_order_and_the_other_with_it(group):
    head, follower = group
    assert (head.stop(), follower.wait_for_end()) == (0, 0)
    pid = follower.process.pid
    assert [line.partition("] ")[2] for line in follower.log[-2:]] == [
        f"Scheduler or DataParallelController {pid} terminated with 0",
        f"kill_process_tree called: parent_pid={pid}, include_parent=False, pid={pid}",
    ]


def test_a_follower_does_not_stop_by_itself(group):
    head, follower = group
    follower.process.terminate()
    follower.wait_for("SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast")
    assert follower.status("/health") == 200
    assert (head.stop(), follower.wait_for_end()) == (0, 0)


@pytest.mark.parametrize("words", ["SIGTERM received on node_rank", "terminated with 0", "kill_process_tree called"])
def test_sigterm_while_a_follower_writes_a_line_does_not_keep_it_from_ending(start_node, interrupted_at, words):
    follower, head = start_node(1, STANDIN_PROCESSES="1", PYTHONPATH=interrupted_at(words)), start_node(0)
    follower.wait_for(FOLLOWS)
    head.wait_for(READY)
    follower.process.terminate()
    follower.wait_for("SIGTERM received on node_rank")
    assert (head.stop(), follower.wait_for_end()) == (0, 0)
    assert follower.log[-1].endswith(f"pid={follower.process.pid}")


def test_nodes_that_are_asked_to_stop_at_once_and_repeatedly_end_in_order(group):
    for _time in range(20):
        for node in group:
            node.process.terminate()
    assert [node.wait_for_end() for node in group] == [0, 0]


def test_a_node_that_waits_in_vain_loads_nothing_and_dies(start, port):
    alone = ["--nnodes", "2", "--tp-size", "2", "--node-rank", "0", "--dist-timeout", "1"]
    head = start(*alone, "--dist-init-addr", f"127.0.0.1:{port}")
    assert head.wait_for_end() == -9
    assert "torch.distributed.DistStoreError: Timed out after 2 seconds waiting for clients. 1/2 clients joined." in (
        head.log
    )
    assert not [line for line in head.log if "Load weight" in line]
