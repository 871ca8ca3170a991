# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.conclusion import Finding, conclude

GOOD = Finding("proven", "It is good.")
OPEN = Finding("inconclusive", "It is open.")
BAD = Finding("refuted", "It is bad.")


@pytest.mark.parametrize(
    "findings, verdict, reason",
    [
        ([GOOD, None, GOOD], "proven", "It is good. It is good."),
        ([GOOD, OPEN, GOOD], "inconclusive", "It is open."),
        ([OPEN, BAD, GOOD], "refuted", "It is bad."),
        ([], "inconclusive", ""),
        ([None], "inconclusive", ""),
    ],
)
def test_the_worst_finding_decides_and_says_why(findings, verdict, reason):
    assert conclude(findings) == (verdict, reason)
