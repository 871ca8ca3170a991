# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one field of the server's arguments is: by its log, and by its own answer."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import missing_evidence
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import SERVER_INFO, Evidence, shorten
from ansible_collections.llmops.sglang.plugins.module_utils.finding import NO_EVIDENCE, UNMET, Finding

ABSENT = object()
# Two printings of one float may differ in their last digits.
SAME_FLOAT = 1e-9


@dataclasses.dataclass(frozen=True)
class Seen:
    """The value of a field, or why there is none: then ``status`` is set."""

    value: object
    evidence: list
    status: str = ""
    reason: str = ""
    absent: bool = False

    def finding(self, expected):
        return Finding(self.status, expected, self.value, self.evidence, self.reason)


def observe(case, names):
    """A field under the first of its ``names`` that is there."""
    logged, logged_name = _first(case.facts.banner or {}, names)
    answered, answered_name = _first(case.http_fields, names)
    evidence = []
    if logged is not ABSENT:
        event = case.facts.banner_event
        evidence.append(Evidence.of(event, "server_args=…%s…" % case.facts.banner.shown(logged_name)))
    if answered is not ABSENT:
        evidence.append(Evidence("%s: %r" % (answered_name, answered), source=SERVER_INFO))
    if logged is ABSENT and answered is ABSENT:
        absent = bool(case.facts.banner and case.facts.banner.complete or case.http_fields)
        return Seen(None, [], NO_EVIDENCE, missing_evidence.of_field(case, names), absent)
    if logged is not ABSENT and answered is not ABSENT and not _same(logged, answered):
        values = {"log": logged, "server_info": answered}
        reason = "the log says %s, the server itself answers %s" % (_shown(logged), _shown(answered))
        return Seen(values, evidence, UNMET, reason)
    return Seen(answered if logged is ABSENT else logged, evidence)


def _first(fields, names):
    for name in names:
        if name in fields:
            return fields.get(name), name
    return ABSENT, ""


def _same(one, other):
    if isinstance(one, float) and isinstance(other, (int, float)) and not isinstance(other, bool):
        return abs(one - other) <= SAME_FLOAT
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(value):
    return shorten(str(value), 80)
