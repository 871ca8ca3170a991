# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Callback: notes in ``TASKS_FILE`` each task that starts, and kills ansible-playbook before task ``KILL_AT``."""

from __future__ import annotations

import os
import signal

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kill_at_task
type: aggregate
short_description: Kill the run before one of its tasks
description: For tests only.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_at_task"

    def __init__(self):
        super().__init__()
        self._number = 0

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._number += 1
        if self._number == int(os.environ["KILL_AT"]):
            os.kill(os.getpid(), signal.SIGKILL)
        with open(os.environ["TASKS_FILE"], "a", encoding="utf-8") as tasks:
            tasks.write("%s\t%s\n" % (task.action.rpartition(".")[2], task.get_name().strip()))

    def v2_playbook_on_handler_task_start(self, task):
        self.v2_playbook_on_task_start(task, False)
