# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: who is left to serve when one worker is taken from a router."""

from __future__ import annotations


def left_unserved(worker, others):
    """What nobody would serve any more without ``worker``, as words for a sentence; empty when all is served.

    A worker counts unless its router calls it unhealthy or drains it. A router that runs prefill and decode apart needs
    one of each. Where a router does not say which model a worker has, any other worker counts.
    """
    if worker.healthy is False:
        return []
    rivals = [other for other in others if other.healthy is not False and other.worker_type == worker.worker_type]
    kind = "" if worker.worker_type == "regular" else f" ({worker.worker_type})"
    if not worker.models:
        return [] if rivals else [f"any model{kind}"]
    return [
        f"{model}{kind}"
        for model in sorted(worker.models)
        if not any(not rival.models or model in rival.models for rival in rivals)
    ]


def lacks_model(worker, others):
    """Whether a worker is listed as serving no model: a router does that when it could not ask the server.

    A router whose other workers are all like that never asks, so there it means nothing.
    """
    if worker.healthy is None or worker.models:
        return False
    return not others or any(other.models for other in others)
