# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers to the questions of a proof, and the verdict that they make together."""

from __future__ import annotations

import dataclasses

PROVEN = "proven"
REFUTED = "refuted"
INCONCLUSIVE = "inconclusive"


@dataclasses.dataclass(frozen=True)
class Finding:
    """``status`` is ``proven``, ``refuted`` or ``inconclusive``; ``sentence`` says what was found."""

    status: str
    sentence: str


def conclude(findings):
    """``(verdict, reason)``: one finding that refutes refutes all, and one that is open leaves all open.

    The reason is what the findings say that decide. ``None`` in the list stands for a question that was not asked.
    """
    findings = [finding for finding in findings if finding]
    verdict = next(
        (status for status in (REFUTED, INCONCLUSIVE, PROVEN) if any(finding.status == status for finding in findings)),
        INCONCLUSIVE,
    )
    return verdict, " ".join(finding.sentence for finding in findings if finding.status == verdict)
