# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the nodes of one server find each other at ``--dist-init-addr``, before any of them loads weights.

Stands in for torch's store: node 0 listens, the others connect, and all of them wait until the group is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Mapping

from sglang.failures import RankDied, nodes_missing
from sglang.group import Group
from sglang.ranks import world_size

IN_STEP, OUT_OF_STEP = b"S", b"O"
TORCH_TIMEOUT_SECONDS = 1800
RETRY_SECONDS = 0.05
INTRODUCTION_SECONDS = 5
# Without --dist-init-addr each node takes a port of its own, and none finds another.
NOWHERE = "127.0.0.1:0"


def meet(fields: Mapping[str, object]) -> Group:
    """Wait until all nodes are there. Raises RankDied, with torch's words, when they don't come in time."""
    if fields["nnodes"] == 1:
        return Group()
    rendezvous = Rendezvous(fields)
    return rendezvous.gather() if fields["node_rank"] == 0 else rendezvous.join()


class Rendezvous:
    def __init__(self, fields: Mapping[str, object]):
        self._nodes, self._node, self._ranks = fields["nnodes"], fields["node_rank"], world_size(fields)
        self._algorithm = str(fields["speculative_algorithm"])
        self._host, _colon, port = (fields["dist_init_addr"] or NOWHERE).rpartition(":")
        self._port = int(port)
        self._seconds = fields["dist_timeout"] or TORCH_TIMEOUT_SECONDS
        self._deadline = time.monotonic() + self._seconds

    def gather(self) -> Group:
        """Node 0: waits for the other nodes, and lets them know that all are there.

        A node whose arguments make for another number of ranks is heard, but it is none of this group.
        """
        came: dict[tuple[int, int], tuple[socket.socket, str]] = {}
        wanted = {(node, self._ranks) for node in range(1, self._nodes)}
        with self._listen() as listener:
            while not wanted <= came.keys():
                connection = self._accept(listener, len(came))
                with contextlib.suppress(OSError, ValueError):
                    node, ranks, algorithm = introduction(connection)
                    came[node, ranks] = connection, algorithm
        connections = [came[node][0] for node in wanted]
        in_step = all(came[node][1] == self._algorithm for node in wanted)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(IN_STEP if in_step else OUT_OF_STEP)
        return Group(connections, in_step)

    def join(self) -> Group:
        """Any other node: waits for node 0 to say that all are there."""
        connection = self._connect()
        connection.sendall(f"{self._node} {self._ranks} {self._algorithm}\n".encode())
        connection.settimeout(self._left())
        try:
            word = connection.recv(1)
        except ConnectionError:
            word = b""
        except OSError:
            raise self._incomplete() from None
        if not word:
            raise nodes_missing(
                "DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server "
                "shutdown or crash?"
            )
        connection.settimeout(None)
        return Group([connection], word == IN_STEP)

    def _listen(self) -> socket.socket:
        try:
            return socket.create_server(("", self._port))
        except OSError as error:
            raise nodes_missing(
                "DistNetworkError: The server socket has failed to listen on any local network address. "
                f"port: {self._port}, useIpv6: false, code: -{error.errno}, name: {errno.errorcode[error.errno]}, "
                f"message: {os.strerror(error.errno).lower()}"
            ) from None

    def _accept(self, listener: socket.socket, came: int) -> socket.socket:
        listener.settimeout(self._left())
        try:
            return listener.accept()[0]
        except OSError:
            joined = self._ranks // self._nodes * (came + 1)
            if joined >= self._ranks:
                raise self._incomplete() from None
            raise nodes_missing(
                f"DistStoreError: Timed out after {self._seconds + 1} seconds waiting for clients. "
                f"{joined}/{self._ranks} clients joined."
            ) from None

    def _connect(self) -> socket.socket:
        """Node 0 may not have come so far yet."""
        while time.monotonic() < self._deadline:
            try:
                return socket.create_connection((self._host, self._port), self._left())
            except OSError:
                time.sleep(RETRY_SECONDS)
        raise nodes_missing(
            f"DistNetworkError: The client socket has timed out after {self._seconds * 1000}ms while trying to "
            f"connect to ({self._host}, {self._port})."
        )

    def _incomplete(self) -> RankDied:
        """Enough have come, and some of them belong to another group."""
        return nodes_missing(
            f"DistStoreError: wait timeout after {self._seconds * 1000}ms, keys: /default_pg/0//cpu//0/1"
        )

    def _left(self) -> float:
        return max(0.001, self._deadline - time.monotonic())


def introduction(connection: socket.socket) -> tuple[int, int, str]:
    """The rank of a node, how many ranks there are by its arguments, and how it speculates.

    Raises OSError or ValueError for a caller who is no node.
    """
    connection.settimeout(INTRODUCTION_SECONDS)
    with connection.makefile("rb") as words:
        node, ranks, algorithm = words.readline(64).decode().split()
    connection.settimeout(None)
    return int(node), int(ranks), algorithm
