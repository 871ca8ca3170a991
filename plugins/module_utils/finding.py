# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was found on one condition."""

from __future__ import annotations

import dataclasses

MET = "met"
UNMET = "unmet"
NO_EVIDENCE = "no_evidence"
NOT_APPLICABLE = "not_applicable"


@dataclasses.dataclass(frozen=True)
class Finding:
    """``status`` is one of the four above; ``reason`` a sentence without full stop, secrets still in it."""

    status: str
    expected: object
    observed: object
    evidence: list
    reason: str

    @classmethod
    def not_asserted(cls):
        return cls(NOT_APPLICABLE, None, None, [], "not asserted")

    @property
    def asserted(self):
        return self.status != NOT_APPLICABLE
