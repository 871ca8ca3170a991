#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_ready
short_description: Wait until a SGLang server is ready, and prove that it is the one that was started
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Looks at a server until it answers 200, and tells loading (the port refuses connections), warming up (503) and ready
    apart. The result lists what was seen on the way.
  - With O(unit) it waits for one service instance. If that instance dies or is replaced, the task fails at once and
    shows its last journal lines and what went wrong.
  - With O(unit) it also proves who answers. The process that listens on the port must belong to that instance. A
    process left over from another start is named, and its answers count for nothing.
  - Some endpoints answer 200 before the warm-up ends, such as C(/v1/models). With such an O(path) the server is ready
    when C(/health) answers 200 as well, or C(/health_generate) where the release's C(/health) shows nothing (before
    0.5.1).
  - A single 503 or a lost connection of a busy server is part of the history and ends nothing. An answer of 401, 403
    or 404 and a failure of TLS end the wait at once, since waiting changes none of them.
  - Only reads, also in check mode.
extends_documentation_fragment:
  - llmops.sglang.server
attributes:
  check_mode:
    description: Runs the same, as it only reads.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
options:
  path:
    description: Endpoint that must answer 200.
    type: str
    default: /health
  timeout:
    description: How long to wait, in seconds.
    type: float
    default: 1800
  interval:
    description:
      - Seconds between two looks.
      - When left out, the pace follows what is seen. It is 0.2 s while the port is closed (a bare connection, which the
        server does not notice), 0.3 s during the warm-up, 1 s otherwise. So readiness is seen within half a second.
    type: float
  request_timeout:
    description:
      - How long one answer may take, in seconds.
      - SGLang itself takes up to 20 s to answer C(/health) when it is busy.
    type: float
    default: 25
  consecutive:
    description: How many answers of 200 in a row make the server ready.
    type: int
    default: 1
  unit:
    description: The systemd unit of the server, with its suffix. Its state is read again once a second.
    type: str
  invocation_id:
    description: The InvocationID of the instance to wait for. The unit's current one when left out.
    type: str
  verify_listener:
    description:
      - Whether the process that listens on the port must belong to the instance of O(unit).
      - Set it to V(false) where the unit runs its server in a container, whose processes are in another cgroup.
    type: bool
    default: true
  node_rank:
    description:
      - The rank of this host in a group of several nodes (C(--node-rank)).
      - Hosts with a rank above 0 answer 200 whatever happens. There the module asks nothing and RV(ready) is V(none).
        The host with rank 0 stands for the group.
    type: int
    default: 0
seealso:
  - module: llmops.sglang.mtp_verify
  - module: llmops.sglang.mtp_prove
"""

EXAMPLES = r"""
- name: Wait for the instance that the restart has started
  llmops.sglang.server_ready:
    url: http://127.0.0.1:30000
    unit: sglang.service
    invocation_id: "{{ restart.instance.invocation_id }}"
    timeout: 1800

- name: Wait for any server, over TLS with a private CA, with a key from a file on the host
  llmops.sglang.server_ready:
    url: https://gpu01.example.com:30000
    path: /v1/models
    ca_path: /etc/ssl/private-ca.pem
    api_key_file: /etc/sglang/api-key
"""

RETURN = r"""
ready:
  description: Whether the server is ready. V(none) on a host with O(node_rank) above 0.
  type: bool
  returned: always
reason:
  description: One sentence on what that rests on.
  type: str
  returned: always
  sample: "The server answered 200 on /health after 71.4 s: it has generated a token."
proves:
  description:
    - V(generation) if the server has generated a token, V(requests) if it is past its warm-up and takes requests,
      V(http) if only HTTP is known to be up. Empty when it is not ready.
  type: str
  returned: always
  sample: generation
seconds:
  description: How long the wait took, in seconds.
  type: float
  returned: always
  sample: 71.382
history:
  description: What was seen, in order. Looks in a row that saw the same are one entry.
  type: list
  elements: dict
  returned: always
  contains:
    state:
      description:
        - The HTTP status, or V(refused), V(timeout), V(reset), V(unreachable), V(tls), V(garbled) where no HTTP
          answer came.
        - V(foreign) where a process that is not the instance's held the port.
      type: str
      sample: refused
    from_seconds:
      description: When it was first seen, in seconds since the wait began.
      type: float
    count:
      description: How many looks saw it.
      type: int
version:
  description: Release of SGLang, where the server says it. Else empty.
  type: str
  returned: always
  sample: 0.5.12
instance:
  description: The service instance. V(none) without O(unit).
  type: dict
  returned: always
  contains:
    invocation_id:
      description: systemd's InvocationID, 32 hexadecimal digits.
      type: str
    main_pid:
      description: Process ID of the main process.
      type: int
    state:
      description: Active state and sub state.
      type: str
      sample: active (running)
    restarts:
      description: How often systemd restarted the service by itself.
      type: int
listener:
  description: The process that listens where O(url) points. V(none) without O(unit) or with O(verify_listener=false).
  type: dict
  returned: always
  contains:
    pid:
      description: Process ID, 0 when none could be seen.
      type: int
    command:
      description: Its command line without secrets.
      type: str
    started_at:
      description: When it was started, in UTC.
      type: str
      sample: "2026-03-01T12:00:00Z"
    in_cgroup:
      description: Whether it is in the cgroup of O(unit). V(none) when this could not be seen.
      type: bool
    of_instance:
      description:
        - Whether it belongs to this very instance and not to an earlier one. V(none) when this could not be seen.
      type: bool
journal:
  description: The last lines of the instance, oldest first, without secrets.
  type: list
  elements: str
  returned: when the instance died or was replaced
diagnosis:
  description: What went wrong, in the order in which an operator would act.
  type: list
  elements: dict
  returned: when the instance died or was replaced
  contains:
    code:
      description: Short name of the cause.
      type: str
    summary:
      description: The cause in one sentence.
      type: str
    evidence:
      description: The lines it rests on.
      type: list
      elements: dict
    remedy:
      description: What to do.
      type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import readiness
from ansible_collections.llmops.sglang.plugins.module_utils.readiness_wait import ReadinessWait
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApiError
from ansible_collections.llmops.sglang.plugins.module_utils.server_options import ARGUMENTS, MUTUALLY_EXCLUSIVE, connect
from ansible_collections.llmops.sglang.plugins.module_utils.service import ServiceError
from ansible_collections.llmops.sglang.plugins.module_utils.watched_instance import WatchedInstance

LISTENER_UNSEEN = (
    "Who answers on {url} could not be seen: no process of this host shows as the listener. Run the task with become,"
    " or set verify_listener to false if the server runs in a container."
)


def main():
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            path={"type": "str", "default": "/health"},
            timeout={"type": "float", "default": 1800},
            interval={"type": "float"},
            request_timeout={"type": "float", "default": 25},
            consecutive={"type": "int", "default": 1},
            unit={"type": "str"},
            invocation_id={"type": "str"},
            verify_listener={"type": "bool", "default": True},
            node_rank={"type": "int", "default": 0},
        ),
        mutually_exclusive=MUTUALLY_EXCLUSIVE,
        required_by={"invocation_id": ["unit"]},
        supports_check_mode=True,
    )
    problem = readiness.option_problem(module.params)
    if problem:
        module.fail_json(msg=problem)
    try:
        wait_for_server(module)
    except (ServerApiError, ServiceError) as error:
        module.fail_json(msg=str(error))


def wait_for_server(module):
    options = module.params
    api = connect(module, options["request_timeout"])
    watched = watch(module, api)
    if options["node_rank"] > 0:
        outcome = readiness.of_follower(options["node_rank"], watched.trouble() if watched else "")
    else:
        outcome = ReadinessWait(
            api,
            options["path"],
            watched,
            timeout=options["timeout"],
            interval=options["interval"],
            consecutive=options["consecutive"],
            request_timeout=options["request_timeout"],
        ).run()
    result = dict(outcome.summary(), changed=False, **describe(watched, options["verify_listener"]))
    if outcome.ready is False:
        words = last_words(module, watched)
        module.fail_json(msg=outcome.reason + likely_cause(words), **dict(result, **words))
    if outcome.ready and watched and watched.is_listener_unseen:
        module.warn(LISTENER_UNSEEN.format(url=options["url"]))
    module.exit_json(**result)


def watch(module, api):
    options = module.params
    if not options["unit"]:
        return None
    return WatchedInstance(
        module.run_command,
        options["unit"],
        options["invocation_id"] or "",
        api.address,
        options["verify_listener"] and options["node_rank"] == 0,
    )


def describe(watched, verify_listener):
    if not watched:
        return {"instance": None, "listener": None}
    listener = watched.last_listener.summary() if verify_listener else None
    return {"instance": watched.instance.summary(), "listener": listener}


def likely_cause(words):
    causes = [cause["summary"] for cause in words.get("diagnosis", []) if cause["code"] != "instance_replaced"]
    return f" Likely cause: {causes[0]}." if causes else ""


def last_words(module, watched):
    """The journal of an instance that died; nothing for one that still runs."""
    if not watched or not watched.end:
        return {}
    # Only a failure needs the readers of the journal, and they are large.
    from ansible_collections.llmops.sglang.plugins.module_utils.last_words import read_last_words

    words = read_last_words(watched.invocation_id, watched.end)
    if words.problem:
        module.warn(words.problem)
    return {"journal": words.lines, "diagnosis": words.diagnosis}


if __name__ == "__main__":
    main()
