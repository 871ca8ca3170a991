# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When each step of a start was over, and how long it took."""

from __future__ import annotations

import datetime

# In the order of a start. Several lines may end a step (one per rank); the last one counts.
PHASES = ("banner", "target_weights", "draft_weights", "memory_pool", "graphs", "warm_up", "ready")
LAST_LINE_COUNTS = ("target_weights", "draft_weights", "memory_pool", "graphs", "warm_up")


class Timeline:
    """Times come from the journal; where there are none, from the server's own lines, which give whole seconds of local
    time. The two clocks are never mixed."""

    def __init__(self):
        self._began = {}
        self._reached = {}

    def begin(self, event):
        """``event`` is among the first lines of the start."""
        for clock, moment in _moments(event):
            self._began.setdefault(clock, moment)

    def reach(self, phase, event):
        """``event`` ends ``phase``."""
        self.begin(event)
        if phase not in self._reached or phase in LAST_LINE_COUNTS:
            self._reached[phase] = dict(_moments(event))

    def phases(self):
        """A list of ``{"name", "seconds", "elapsed"}``, in order.

        ``seconds`` is how long the step took since the one before it was over, ``elapsed`` the time since the first
        line; both are None when the log has no time for it.
        """
        clock = "journal" if "journal" in self._began else "printed"
        shown = []
        last = self._began.get(clock)
        for name in PHASES:
            if name in self._reached:
                moment = self._reached[name].get(clock)
                elapsed = _between(self._began.get(clock), moment)
                shown.append({"name": name, "seconds": _between(last, moment), "elapsed": elapsed})
                last = moment or last
        return shown


def _moments(event):
    for clock, text in (("journal", event.record.timestamp), ("printed", event.clock)):
        moment = _moment(text)
        if moment:
            yield clock, moment


def _moment(text):
    if not text:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00").replace(",", "."))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)


def _between(start, end):
    if not start or not end:
        return None
    return round(max(0.0, (end - start).total_seconds()), 3)
