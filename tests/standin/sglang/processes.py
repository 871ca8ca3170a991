# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The other processes of a server, asleep: what ``ps`` and the cgroup show of a real one."""

from __future__ import annotations

import subprocess
import sys

from sglang.run import Run

SLEEP_UNTIL_PARENT_ENDS = "import sys; sys.stdin.read()"


def start_sleepers(run: Run) -> list[subprocess.Popen]:
    """One scheduler per rank and a detokenizer. They end with this process, however it ends."""
    names = ["sglang::scheduler" + tag.replace(" ", "_") for tag in run.tags] + ["sglang::detokenizer"]
    return [
        subprocess.Popen([name, "-c", SLEEP_UNTIL_PARENT_ENDS], executable=sys.executable, stdin=subprocess.PIPE)
        for name in names
    ]
