# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: is a start that failed worth another one."""

from __future__ import annotations

# Deaths without a cause that would be there again: some releases fail one start in five (sglang issue 28431).
FLAKY = {"main_exception", "scheduler_exception", "killed", "child_died", "distributed_timeout", "watchdog_timeout"}
# What a server says besides that has nothing to do with its death.
REMARKS = {"environment_without_effect", "start_limit_hit"}


def may_start_again(failure, attempt, attempts):
    """Whether a server that failed at its ``attempt``-th start (from 1) of ``attempts`` may be started once more.

    :arg failure: the result that ended the start; its ``diagnosis`` says why the instance died. A start that ended
        for another reason than a death would end the same way again.
    """
    codes = {cause.get("code") for cause in failure.get("diagnosis") or []} - REMARKS
    return attempt < attempts and bool(codes) and codes <= FLAKY
