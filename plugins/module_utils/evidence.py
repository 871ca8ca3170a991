# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One piece of evidence: the part of a log line that a condition or a diagnosis rests on."""

from __future__ import annotations

import dataclasses

LOG = "log"
SERVER_INFO = "server_info"

LONGEST_SHOWN = 400
# More is kept than is shown: a secret that is learned later must still be whole when it is removed.
LONGEST_KEPT = 4000


@dataclasses.dataclass(frozen=True)
class Evidence:
    """``text`` is as printed, only :meth:`shown` may leave. ``source`` is :data:`LOG` or :data:`SERVER_INFO`."""

    text: str = dataclasses.field(repr=False)
    timestamp: str = ""
    rank: str = ""
    cursor: str = ""
    source: str = LOG

    @classmethod
    def of(cls, event, text=None):
        """The evidence of a log event: its line, or the part of it given as ``text``."""
        kept = (event.line if text is None else text)[:LONGEST_KEPT]
        return cls(kept, event.record.timestamp, event.rank, event.record.cursor)

    def shown(self, redactor):
        """``{"line", "timestamp", "rank", "cursor", "source"}`` without secrets and of bounded length."""
        return {
            "line": shorten(redactor.redact(self.text)),
            "timestamp": self.timestamp,
            "rank": self.rank,
            "cursor": self.cursor,
            "source": self.source,
        }


def shorten(text, longest=LONGEST_SHOWN):
    return text if len(text) <= longest else text[:longest - 1] + "…"
