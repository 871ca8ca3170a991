#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mtp_soak
short_description: Watch a proven server for a while, and see that it stays as it was proven
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Watches one service instance. It must stay the same instance, print no fatal line, and answer its health checks.
  - Where traffic flows, the accept length that the server logs must stay above a limit.
  - One missed health check is no death, since a busy server can miss it. Three in a row are.
  - Ends at once when something speaks against the instance, with its last journal lines and the likely cause.
extends_documentation_fragment:
  - llmops.sglang.server
attributes:
  check_mode:
    description: The module only watches, so it does the same in check mode.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
options:
  unit:
    description: Name of the unit.
    type: str
    default: sglang.service
  invocation_id:
    description: The instance to watch. By default the one that runs.
    type: str
  path:
    description: Path of the health check.
    type: str
    default: /health
  seconds:
    description: How long to watch, in seconds.
    type: float
    default: 60
  min_accept_length:
    description: Limit for the mean accept length of the decode lines seen. Not judged when it is not given.
    type: float
  fail:
    description: Whether the task fails unless the verdict is V(proven).
    type: bool
    default: true
seealso:
  - module: llmops.sglang.mtp_prove
  - module: llmops.sglang.server_ready
"""

EXAMPLES = r"""
- name: See that the server stays as it was proven
  llmops.sglang.mtp_soak:
    url: http://127.0.0.1:30000
    invocation_id: "{{ restart.instance.invocation_id }}"
    seconds: 60
    min_accept_length: 1.3
"""

RETURN = r"""
verdict:
  description: V(proven) or V(refuted).
  type: str
  returned: always
reason:
  description: Why, as a sentence.
  type: str
  returned: always
  sample: The same instance stayed healthy for 60.0 s; the accept length was 2.87.
seconds:
  description: How long the instance was watched, in seconds.
  type: float
  returned: always
checks:
  description: How many health checks were made.
  type: int
  returned: always
missed:
  description: How many of them were not answered with 200.
  type: int
  returned: always
accept_length:
  description: Mean accept length of the decode lines seen; V(none) when no traffic flowed.
  type: float
  returned: always
instance:
  description: The instance as it was seen last.
  type: dict
  returned: always
  contains:
    invocation_id:
      description: systemd's InvocationID.
      type: str
    main_pid:
      description: Process ID of the main process.
      type: int
    state:
      description: Active state and sub state.
      type: str
    restarts:
      description: How often systemd restarted the service by itself.
      type: int
journal:
  description: The last lines of an instance that ended, without secrets.
  type: list
  elements: str
  returned: when the instance ended
diagnosis:
  description: Likely causes, as M(llmops.sglang.mtp_verify) returns them.
  type: list
  elements: dict
  returned: when the instance ended
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import soak
from ansible_collections.llmops.sglang.plugins.module_utils.journal import Journal, JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.last_words import read_last_words
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApiError
from ansible_collections.llmops.sglang.plugins.module_utils.server_options import (
    ARGUMENTS,
    MUTUALLY_EXCLUSIVE,
    connect,
)
from ansible_collections.llmops.sglang.plugins.module_utils.service import ServiceError
from ansible_collections.llmops.sglang.plugins.module_utils.watched_instance import WatchedInstance

# Above the 20 s after which the server itself gives up on its health check.
SECONDS_PER_CHECK = 25


def main():
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            unit={"type": "str", "default": "sglang.service"},
            invocation_id={"type": "str"},
            path={"type": "str", "default": "/health"},
            seconds={"type": "float", "default": 60},
            min_accept_length={"type": "float"},
            fail={"type": "bool", "default": True},
        ),
        mutually_exclusive=MUTUALLY_EXCLUSIVE,
        supports_check_mode=True,
    )
    options = module.params
    if options["seconds"] < 0:
        module.fail_json(msg="seconds is %s: give a time that is not negative." % options["seconds"])
    try:
        findings, watched = watch(module)
    except (JournalError, ServerApiError, ServiceError) as error:
        module.fail_json(msg=str(error))
    verdict, reason = soak.judge(findings, options["min_accept_length"])
    result = {
        "verdict": verdict,
        "reason": reason,
        "seconds": findings.seconds,
        "checks": findings.checks,
        "missed": findings.missed,
        "accept_length": findings.accept_length,
        "instance": watched.instance.summary(),
    }
    if watched.end:
        words = read_last_words(watched.invocation_id, watched.end)
        result.update(journal=words.lines, diagnosis=words.diagnosis)
    if options["fail"] and verdict != "proven":
        module.fail_json(msg=reason, **result)
    module.exit_json(changed=False, **result)


def watch(module):
    options = module.params
    api = connect(module, SECONDS_PER_CHECK)
    watched = WatchedInstance(
        module.run_command, options["unit"], options["invocation_id"] or "", api.address, verify_listener=False
    )
    findings = soak.SoakFindings(trouble=watched.trouble(now=True))
    if findings.trouble:
        return findings, watched
    with Journal(watched.invocation_id).from_now() as reading:
        soak.watch(findings, reading, watched, lambda: api.get(options["path"]).state, options["seconds"])
    return findings, watched


if __name__ == "__main__":
    main()
