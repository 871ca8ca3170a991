# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes that are one server: none of them outlives another.

Stands in for torch's process group. Between node 0 and each other node a connection stays open; whoever ends closes
his, which is noticed at the other side.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence

DISMISSED = b"D"


class Group:
    """``connections``: on node 0 one to each other node, elsewhere the one to node 0; ``in_step``: whether all nodes
    speculate alike.
    """

    def __init__(self, connections: Sequence[socket.socket] = (), in_step: bool = True):
        self.connections = connections
        self.in_step = in_step
        self._dismissed = threading.Event()

    def watch(self, lost: Callable[[], None]) -> None:
        """Call ``lost`` when another node ends otherwise than in order."""
        for connection in self.connections:
            threading.Thread(target=self._watch, args=(connection, lost), daemon=True).start()

    def dismiss(self) -> None:
        """Node 0 lets the others stop in order."""
        self._dismissed.set()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.sendall(DISMISSED)

    def when_dismissed(self, call: Callable[[], None]) -> None:
        """Call ``call``, from another thread, when node 0 lets this one stop; at once if it has done so."""
        threading.Thread(target=lambda: (self._dismissed.wait(), call()), daemon=True).start()

    def _watch(self, connection: socket.socket, lost: Callable[[], None]) -> None:
        try:
            word = connection.recv(1)
        except OSError:
            word = b""
        if word == DISMISSED:
            self._dismissed.set()
        elif not self._dismissed.is_set():
            lost()
