# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes find each other, or say as torch does that they did not; and each notices the end of another."""

from __future__ import annotations

import concurrent.futures
import socket
import threading
import time

import pytest
from sglang.failures import RankDied
from sglang.group import Group
from sglang.rendezvous import meet

DEADLINE = 20.0
LATE = 0.2


@pytest.fixture
def nodes(port):
    """``nodes(n, **fields)``: the arguments of ``n`` nodes, each of which runs two ranks."""

    def nodes(count: int, **fields) -> list[dict]:
        common = {"nnodes": count, "tp_size": 2 * count, "pp_size": 1, "dist_timeout": DEADLINE}
        common["speculative_algorithm"] = "EAGLE"
        return [{**common, "node_rank": node, "dist_init_addr": f"127.0.0.1:{port}", **fields} for node in range(count)]

    return nodes


@pytest.fixture
def attempt():
    """Let nodes meet, each in a thread: a future per node."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield lambda *arguments: [pool.submit(meet, fields) for fields in arguments]


def groups_of(futures) -> list[Group]:
    return [future.result(DEADLINE) for future in futures]


def words_of(future) -> str:
    with pytest.raises(RankDied) as death:
        future.result(DEADLINE)
    return death.value.traceback.splitlines()[-1]


def knock(port: int) -> socket.socket:
    """A connection, as soon as somebody listens."""
    until = time.monotonic() + DEADLINE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), DEADLINE)
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.01)


def close(group: Group) -> None:
    for connection in group.connections:
        connection.close()


def test_node_0_waits_for_all_others_in_whatever_order_they_come(nodes, attempt):
    first, second, third = nodes(3)
    early = attempt(third, first)
    assert concurrent.futures.wait(early, timeout=LATE).not_done == set(early)
    late = attempt(second)
    assert [len(group.connections) for group in groups_of(early + late)] == [1, 2, 1]


def test_a_caller_that_is_no_node_is_not_counted(nodes, attempt):
    first, second = nodes(2)
    head = attempt(first)
    with knock(int(first["dist_init_addr"].rpartition(":")[2])) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert len(groups_of(head + attempt(second))[0].connections) == 1


def test_a_single_node_waits_for_nobody():
    assert meet({"nnodes": 1}).connections == ()


def test_node_0_says_how_many_ranks_came(nodes, attempt):
    first, second, _third = nodes(3, dist_timeout=1)
    futures = attempt(first, second)
    assert words_of(futures[0]) == (
        "torch.distributed.DistStoreError: Timed out after 2 seconds waiting for clients. 4/6 clients joined."
    )


def test_a_node_without_node_0_says_where_it_sought_it(nodes, attempt):
    _first, second = nodes(2, dist_timeout=LATE)
    assert "The client socket has timed out" in words_of(attempt(second)[0])


def test_nodes_with_other_sizes_miss_each_other(nodes, attempt):
    first, second = nodes(2, dist_timeout=LATE)
    futures = attempt({**first, "dist_timeout": 1}, {**second, "tp_size": 8, "dist_timeout": 0.5})
    assert ["DistStoreError: wait timeout after" in words_of(future) for future in futures] == [True, True]


def test_a_node_whose_node_0_dies_while_they_wait_dies_too(nodes, attempt):
    _first, second, _third = nodes(3)
    with socket.create_server(("", int(second["dist_init_addr"].rpartition(":")[2]))) as listener:
        future = attempt(second)[0]
        listener.settimeout(DEADLINE)
        listener.accept()[0].close()
        assert "Connection was likely closed." in words_of(future)


def test_nodes_meet_though_only_some_speculate_and_are_out_of_step(nodes, attempt):
    first, second, third = nodes(3)
    assert [group.in_step for group in groups_of(attempt(first, second, third))] == [True] * 3
    odd = {**third, "speculative_algorithm": None}
    assert [group.in_step for group in groups_of(attempt(first, second, odd))] == [False] * 3


def test_nodes_without_an_address_miss_each_other(nodes, attempt):
    futures = attempt(*nodes(2, dist_timeout=LATE, dist_init_addr=None))
    assert "2/4 clients joined" in words_of(futures[0])
    assert "The client socket has timed out" in words_of(futures[1])


def test_a_port_that_is_taken_ends_node_0(nodes, attempt):
    first, _second = nodes(2)
    with socket.create_server(("", int(first["dist_init_addr"].rpartition(":")[2]))):
        assert words_of(attempt(first)[0]).endswith("code: -98, name: EADDRINUSE, message: address already in use")


@pytest.mark.parametrize("lost, noticing", [(0, 1), (1, 0)])
def test_the_end_of_a_node_is_noticed(nodes, attempt, lost, noticing):
    groups = groups_of(attempt(*nodes(2)))
    noticed = threading.Event()
    groups[noticing].watch(noticed.set)
    close(groups[lost])
    assert noticed.wait(DEADLINE)


def test_a_node_that_was_dismissed_has_lost_nobody(nodes, attempt):
    head, follower = groups_of(attempt(*nodes(2)))
    lost, dismissed = threading.Event(), threading.Event()
    follower.watch(lost.set)
    follower.when_dismissed(dismissed.set)
    head.watch(lost.set)
    head.dismiss()
    assert dismissed.wait(DEADLINE)
    close(follower)
    close(head)
    assert not lost.is_set()
