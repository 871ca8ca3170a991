# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why something could not be seen: the cause that the facts name, as a sentence without full stop."""

from __future__ import annotations


def of_field(case, names):
    """No source shows the field ``names[0]``."""
    facts = case.facts
    if facts.banner and facts.banner.complete or case.http_fields and not facts.banner:
        return "%s prints no field %s" % (case.release.label, " or ".join(names))
    if facts.banner:
        return "the server_args line ends before %s: the log has cut it" % names[0]
    return "the log shows no server_args line: %s" % _of_lines(case)


def of_loads(case):
    """The log shows no weights, or not those of all ranks."""
    if case.facts.suppressed or case.gap:
        return _of_lines(case)
    if case.died:
        return "the server died before"
    if case.ready:
        return "the log does not hold all lines of the start"
    return "the server has not come so far yet" if case.instance == "alive" else "the log ends before the start is over"


def of_readiness(case):
    """All that was asserted is met, but nothing shows that the server came up."""
    if case.facts.suppressed or case.gap:
        return "the log does not show that the server came up: %s" % _of_lines(case)
    if case.instance == "alive":
        return "all that was asserted is met, but the server has not come up yet"
    return "all that was asserted is met, but the log ends before the server came up"


def _of_lines(case):
    facts = case.facts
    if facts.suppressed:
        return (
            "journald suppressed %d messages of the unit because they came too fast"
            " (LogRateLimitIntervalSec=0 in the unit turns that off)" % facts.suppressed
        )
    if case.gap:
        return case.gap
    if case.died:
        return "the server died before it printed its arguments"
    if not facts.output_seen:
        return "it holds no line of the server"
    if case.has_come_up or facts.http_up or facts.ranks:
        return "its beginning is missing (rotated or vacuumed away), or the server's log level is above INFO"
    if not facts.prefix_seen:
        return "its lines are not in SGLang's own format (SGLANG_LOGGING_CONFIG_PATH), or the start has only begun"
    return "the start has only begun, or the server's log level is above INFO"
