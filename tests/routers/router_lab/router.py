# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real router as a process."""

from __future__ import annotations

import json

from router_lab.process import Served, free_port


class RealRouter(Served):
    """``key`` is its admin key, which releases since 0.2.0 also ask of clients."""

    def __init__(self, release, folder, key="", name="router"):
        super().__init__(folder / f"{name}.log")
        self.release = release
        self.key = key if release.rest else ""

    def start(self, servers=(), options=()):
        argv = [*self.release.command, "--host", "127.0.0.1", "--port", str(self.port), "--policy", "round_robin"]
        argv += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())]
        if servers:
            argv += ["--worker-urls", *(server.url for server in servers)]
        if self.key:
            argv += ["--api-key", self.key]
        if self.release.checks_health:
            argv += ["--health-check-interval-secs", "2"]
        self.launch([*argv, *options], {}, "/workers" if self.release.rest else "/list_workers", self.key)
        self.wait_until(lambda: all(self._sends_to(server) for server in servers))
        return self

    def entries(self):
        """The router's own records by url; without a field where the API knows urls only."""
        if not self.release.rest:
            return {url: {} for url in json.loads(self.ask("GET", "/list_workers")[1])["urls"]}
        return {entry["url"]: entry for entry in json.loads(self.ask("GET", "/workers", self.key)[1])["workers"]}

    def entry_of(self, server):
        return self.entries().get(server.url)

    def _sends_to(self, server):
        """Whether it lists the server, or its ranks, as healthy. It answers before it has asked them."""
        mine = [entry for url, entry in self.entries().items() if url.partition("@")[0] == server.url]
        return bool(mine) and all(entry.get("is_healthy", True) for entry in mine)
