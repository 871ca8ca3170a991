# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A better ``mem_fraction_static`` for a server that ran out of memory, or left none for the KV cache."""

from __future__ import annotations

import math
import re

# The smallest change that is worth a restart.
SMALLEST_STEP = 0.03
# Taken when the size of the GPU or of the draft model is not known.
USUAL_STEP = 0.05
LOWEST, HIGHEST = 0.1, 0.95
# mem_cache/kv_cache_configurator.py of 0.5.18 and 0.5.23. At this figure the cache is empty; above it, it starts.
NEEDED = re.compile(r"Raise --mem-fraction-static above (\d\.\d{1,9})")


def lower(facts):
    """What to set instead after an out-of-memory error: a sentence."""
    return _advice(facts, -1, "Lower")


def higher(facts, text=""):
    """What to set instead when no room was left for the KV cache: a sentence.

    ``text`` is what the server said; a figure that it names there is one that the advice goes beyond.
    """
    needed, fraction = NEEDED.search(text), _fraction(facts)
    # For a hybrid Mamba model the figure can be one that the server has already: it is of no use then.
    if not needed or (fraction is not None and float(needed.group(1)) < fraction):
        return _advice(facts, 1, "Raise")
    proposed = _beyond(float(needed.group(1)))
    if proposed >= 1:
        return "Raise --mem-fraction-static above %s, as the server says." % needed.group(1)
    since = ""
    if fraction is not None:
        since = " from %s" % fraction
        proposed = max(proposed, min(HIGHEST, fraction + _step(facts)))
    return "Raise --mem-fraction-static%s to %.2f (the server needs more than %s)." % (since, proposed, needed.group(1))


def figures(facts):
    """What the log says about memory, for a summary: ``"mem_fraction_static 0.88, draft model 1.91 GB"``."""
    said = []
    fraction = _fraction(facts)
    if fraction is not None:
        said.append("mem_fraction_static %s" % fraction)
    draft = draft_gb(facts)
    if draft:
        said.append("draft model %.2f GB" % draft)
    if facts.first_free_gb:
        said.append("%.2f GB free before the load" % facts.first_free_gb)
    return ", ".join(said)


def draft_gb(facts):
    """The largest that the draft models of one rank take together, in GB; 0.0 when not seen."""
    sizes = [sum(load.memory_gb or 0.0 for load in rank.loads[1:]) for rank in facts.ranks.values()]
    return max(sizes + [0.0])


def _advice(facts, direction, verb):
    fraction = _fraction(facts)
    step = _step(facts)
    if fraction is None:
        return "%s --mem-fraction-static by about %.2f." % (verb, step)
    proposed = min(HIGHEST, max(LOWEST, fraction + direction * step))
    return "%s --mem-fraction-static from %s to %.2f." % (verb, fraction, proposed)


def _beyond(needed):
    """A step above what the server needs if that makes sense, else the next hundredth above it."""
    with_room = math.ceil(round((needed + SMALLEST_STEP) * 100, 6)) / 100
    next_above = (math.floor(round(needed * 100, 6)) + 1) / 100
    return max(min(HIGHEST, with_room), next_above)


def _step(facts):
    draft = draft_gb(facts)
    if not draft or not facts.first_free_gb or facts.first_free_gb <= 0:
        return USUAL_STEP
    return min(0.5, max(SMALLEST_STEP, (draft + 1.0) / facts.first_free_gb))


def _fraction(facts):
    value = facts.banner.get("mem_fraction_static") if facts.banner else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
