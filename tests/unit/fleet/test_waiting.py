# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from fleet.errors import FleetError
from fleet.waiting import until


def test_waiting_ends_with_the_first_yes():
    answers = [True, False, False]
    until(answers.pop, 60, lambda: "never said")
    assert answers == []


def test_waiting_is_bounded_and_says_what_was_missing():
    with pytest.raises(FleetError, match="gpu01 did not boot"):
        until(lambda: False, 0, lambda: "gpu01 did not boot")
