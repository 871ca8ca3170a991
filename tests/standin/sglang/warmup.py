# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The server's first client: itself. Over real HTTP, so that whoever owns the port is the one who answers."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import traceback
import urllib.request

from sglang.failures import kill_everything
from sglang.server import Server

TRIES = 120
NO_ANSWER = (OSError, http.client.HTTPException)
PROMPT = "The capital city of France is"


class WarmUp:
    def __init__(self, server: Server):
        self.server = server
        self.run = server.run

    def run_to_end(self) -> None:
        try:
            self._check_myself()
            if not self.run.fields["skip_server_warmup"]:
                self._generate()
        except NO_ANSWER:
            error = traceback.format_exc()
            self.run.console.log(f"Initialization failed. warmup error: {error}", "error")
            kill_everything(self.run.console, self.run.release)
        self.server.become_ready()

    def _check_myself(self) -> None:
        """Raises the last of NO_ANSWER when nobody answers for two minutes."""
        for attempt in range(TRIES):
            time.sleep(1.0 if attempt else min(1.0, self.run.settings.load_seconds * 0.05))
            try:
                self._ask("/model_info", timeout=5)
                return
            except NO_ANSWER:
                if attempt == TRIES - 1:
                    raise

    def _generate(self) -> None:
        self.run.pause(0.15)
        sampling = {"temperature": 0, "max_new_tokens": 8}
        if self.run.target.sees_images:
            message = {"role": "user", "content": PROMPT}
            self._ask("/v1/chat/completions", {"messages": [message], "temperature": 0, "max_tokens": 8})
        else:
            self._ask("/generate", {"text": PROMPT, "sampling_params": sampling})
        if self.run.release.freezes_gc_after_warmup:
            self._ask("/freeze_gc", {}, key=self.run.fields["admin_api_key"])

    def _ask(self, path: str, body: dict | None = None, timeout: float = 600, key: str | None = None) -> None:
        """Raises one of NO_ANSWER unless the answer is 200."""
        key = key or self.run.fields["api_key"]
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        data = None if body is None else json.dumps(body).encode("utf-8")
        request = urllib.request.Request(self.run.url + path, data, headers)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified())
        )
        with opener.open(request, timeout=timeout) as response:
            response.read()


def unverified() -> ssl.SSLContext:
    """SGLang does not verify its own certificate unless --ssl-ca-certs names the CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
