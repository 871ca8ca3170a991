# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: one service instance while something waits for it, read again once a second, and who listens on its port."""

from __future__ import annotations

import time

from ansible_collections.llmops.sglang.plugins.module_utils import readiness, service
from ansible_collections.llmops.sglang.plugins.module_utils.listener import Listener, find_listener

SECONDS_BETWEEN_READS = 1.0


class WatchedInstance:
    """The instance of ``unit`` that is to get ready.

    :arg run_command: like ``AnsibleModule.run_command``.
    :arg invocation_id: the instance; ``""`` takes the one that runs at the first reading.
    :arg address: where its server is asked, a :class:`~server_api.Address`.
    :arg verify_listener: whether :meth:`listener` looks at all.
    """

    def __init__(self, run_command, unit, invocation_id, address, verify_listener=True, clock=time.monotonic):
        self._run_command = run_command
        self._unit = unit
        self._address = address
        self._verify_listener = verify_listener
        self._clock = clock
        self._read_at = None
        self.invocation_id = invocation_id
        self.instance = None
        self.last_listener = Listener()

    @property
    def end(self):
        """How the instance was last seen: ``dead``, ``replaced``, or ``""`` while it runs or none was ever started."""
        if not self.invocation_id or not readiness.instance_trouble(self.instance, self.invocation_id):
            return ""
        return "dead" if self.instance.invocation_id == self.invocation_id else "replaced"

    @property
    def is_listener_unseen(self):
        """Whether it was looked for and nothing was found, neither the instance nor anybody else."""
        return self._verify_listener and self.last_listener.of_instance is None

    def trouble(self, now=False):
        """Why it can't get ready any more, ``""`` while it can. ``now`` reads afresh.

        :raises service.ServiceError: when systemd does not answer.
        """
        if now or self._is_due():
            self.instance = service.read_instance(self._run_command, self._unit)
            self.invocation_id = self.invocation_id or self.instance.invocation_id
            if self._verify_listener:
                self.last_listener = find_listener(self._address.host, self._address.port, self.instance)
            self._read_at = self._clock()
        return readiness.instance_trouble(self.instance, self.invocation_id)

    def listener_trouble(self):
        """Who else holds the port, as a sentence; ``""`` when it is the instance or can't be seen."""
        if self.last_listener.of_instance is not False:
            return ""
        return readiness.listener_trouble(self.last_listener, self._unit, self._address.port)

    def _is_due(self):
        return self._read_at is None or self._clock() - self._read_at >= SECONDS_BETWEEN_READS
