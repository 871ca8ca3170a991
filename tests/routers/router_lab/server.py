# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in SGLang server as a worker. A request takes a second: 30 tokens at 30 tokens a second."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from router_lab.process import Served

STANDIN = Path(__file__).resolve().parents[2] / "standin"
TOKENS_PER_SECOND = 30
MODEL = "lab-model"


class Server(Served):
    """``key`` is what it is started with (``--api-key``); an empty one means that it wants none."""

    def __init__(self, folder, name, key="", flags=()):
        super().__init__(folder / f"{name}.log")
        self.key = key
        self._flags = list(flags)
        self._model = folder / "model"
        self._model.mkdir(exist_ok=True)
        config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
        (self._model / "config.json").write_text(json.dumps(config))

    def start(self):
        argv = [sys.executable, "-m", "sglang.launch_server", "--port", str(self.port)]
        argv += ["--model-path", str(self._model), "--served-model-name", MODEL]
        argv += [*(["--api-key", self.key] if self.key else []), *self._flags]
        environment = {
            "PYTHONPATH": str(STANDIN),
            "STANDIN_LOAD_SECONDS": "0.2",
            "STANDIN_HEALTH_SECONDS": "0",
            "STANDIN_TOKENS_PER_SECOND": str(TOKENS_PER_SECOND),
        }
        self.launch(argv, environment, "/health")
        return self

    @property
    def served(self):
        """How many requests of clients it has taken, over all its starts."""
        return self.output.count("POST /v1/chat/completions")
