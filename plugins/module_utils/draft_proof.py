# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: are drafts accepted? By correct over proposed drafts where a release counts them, else by the accept length."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.conclusion import INCONCLUSIVE, PROVEN, REFUTED, Finding

# Of fewer tokens an accept length says little: it counts the prefill's token of each request.
ENOUGH_TOKENS = 64

LIKELY_CAUSES = (
    "likely causes: the MTP weights are missing in the checkpoint, were dropped while loading or belong to another"
    " model, the head is quantised in a way that this release does not read, or the draft needs EAGLE3 where EAGLE was"
    " asked for"
)


@dataclasses.dataclass(frozen=True)
class Drafts:
    """``source`` says where the accept length is from: ``generate``, ``server_info`` or ``metrics``; ``""`` for none.

    ``counts`` is an :class:`~acceptance.Acceptance`, for the source ``generate`` only.
    """

    accept_length: float | None = None
    source: str = ""
    counts: acceptance.Acceptance | None = None


def find_drafts(completions, server_info, metrics):
    """The :class:`Drafts`: of our own requests where ``/generate`` tells, else what the server says of itself.

    :arg completions: list of :class:`~generation.Completion`. ``server_info``: dict or ``None``. ``metrics``: text.
    """
    counts = acceptance.total(completion.accepted for completion in completions)
    if counts:
        return Drafts(counts.length, "generate", counts)
    average = acceptance.average_of_server(server_info or {})
    if average:
        return Drafts(average, "server_info")
    gauge = acceptance.of_metrics(metrics)
    return Drafts(gauge, "metrics") if gauge else Drafts()


def judge_drafts(drafts, tokens, min_accept_length, server_info):
    """The :class:`Finding`. ``tokens`` is how many our requests made."""
    if not drafts.source:
        return _no_figures(server_info)
    if tokens < ENOUGH_TOKENS:
        return Finding(
            INCONCLUSIVE,
            f"{tokens} tokens are too few to judge the drafts by, which takes {ENOUGH_TOKENS}: raise max_tokens or"
            " requests.",
        )
    if drafts.counts and drafts.counts.has_counts:
        return _judge_counts(drafts.counts, min_accept_length)
    figure = f"The accept length is {drafts.accept_length:.2f} (from {drafts.source})"
    return _finding(drafts.accept_length >= min_accept_length, figure, f"{min_accept_length:.2f}")


def needed_share(counts, min_accept_length):
    """The share of correct drafts that makes ``min_accept_length``, without the prefill's token.

    Each verify step yields one token of the target model and the drafts that were correct.
    """
    return (min_accept_length - 1) * counts.verify_steps / counts.proposed


def _judge_counts(counts, min_accept_length):
    share = counts.correct / counts.proposed
    needed = needed_share(counts, min_accept_length)
    figure = (
        f"{counts.correct} of {counts.proposed} drafts were correct ({share * 100:.0f} %, accept length"
        f" {counts.length:.2f})"
    )
    limit = f"the {needed * 100:.0f} % that min_accept_length {min_accept_length:.2f} takes"
    return _finding(share >= needed, figure, limit)


def _finding(enough, figure, limit):
    if enough:
        return Finding(PROVEN, f"{figure}, at least {limit}.")
    return Finding(REFUTED, f"{figure}, below {limit}; {LIKELY_CAUSES}.")


def _no_figures(server_info):
    if server_info and "speculative_algorithm" in server_info and not server_info["speculative_algorithm"]:
        return Finding(
            REFUTED,
            "The server runs without speculation: /server_info shows no speculative_algorithm, and no draft was"
            " verified.",
        )
    return Finding(
        INCONCLUSIVE,
        "Nothing shows how many drafts were accepted: not /generate, not /server_info, and not /metrics, which takes"
        " --enable-metrics.",
    )
