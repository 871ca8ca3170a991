# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess
from pathlib import Path

IN_TURN = Path(__file__).parents[3] / "tests" / "tooling" / "in-turn"


def in_turn(*commands):
    done = subprocess.run([IN_TURN, *commands], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_what_follows_a_failure_still_runs_and_the_whole_fails():
    code, lines = in_turn("echo one; false", "echo two")
    assert code == 1
    assert {"one", "two"} <= set(lines)
    assert [(line.split()[0], line.split(maxsplit=3)[3]) for line in lines[-2:]] == [
        ("FAILED", "echo one; false"),
        ("passed", "echo two"),
    ]


def test_all_well_is_exit_code_zero():
    assert in_turn("true", "true")[0] == 0
