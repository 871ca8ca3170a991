#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: router_worker
short_description: Take a server out of its SGLang routers without losing a request, and put it back
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Adds a server to SGLang routers and removes it from them, and follows each step to its end. A router answers long
    before it has done what it was asked for.
  - No router can tell when a server is idle, since it forgets a server as soon as that one is removed. So
    O(state=drained) asks the server itself, until it has neither a running nor a waiting request and holds no token of
    an unfinished one.
  - Works with C(sglang-router) from 0.1.6 on and its successor C(smg). Which API a router has is found out at run time.
    A server that a router lists by data-parallel ranks (C(--dp-aware)) is one worker.
  - All routers are asked before any is changed. If one of them does not answer, nothing is changed.
  - A router does not show a worker's key, so a worker that is added again without its key would answer requests with
    401. Where the server wants a key and none is given, nothing is changed.
attributes:
  check_mode:
    description: Asks the routers and the server, says what would be done and changes nothing.
    support: full
  diff_mode:
    description: Shows for each router whether it has the worker, and with which settings.
    support: full
options:
  state:
    description:
      - V(present) - every router has the worker and calls it healthy. The server must be ready before it is added.
      - V(absent) - no router has the worker. It goes on with the requests that it has.
      - V(drained) - no router has the worker, and the server has finished its requests. It may be stopped.
    type: str
    choices: [present, absent, drained]
    default: present
  router_urls:
    description:
      - Addresses of all routers that send requests to the server. Each router has a list of its own.
      - A router that was restarted has forgotten the workers that were added to it, and has those of its own
        C(--worker-urls) back.
    type: list
    elements: str
    required: true
    aliases: [router_url]
  worker_url:
    description: Address of the server as the routers know it, such as V(http://gpu01:30000).
    type: str
    required: true
  server_url:
    description: Address of the server as this host reaches it. O(worker_url) when left out.
    type: str
  api_key:
    description:
      - The routers' admin key. That is C(--api-key) of the router, or the key with the role admin out of its
        C(--control-plane-api-keys).
    type: str
  api_key_file:
    description: File on this host whose only line is the routers' admin key. Use it instead of O(api_key).
    type: path
  worker_api_key:
    description:
      - The key that the server was started with. The routers get it with the worker, and the server is asked with it.
      - Routers up to 0.1.9 take no such key. They pass on the one that a client sends.
    type: str
  worker_api_key_file:
    description: File on this host whose only line is the server's key. Use it instead of O(worker_api_key).
    type: path
  settings:
    description:
      - What the routers shall know about the worker when it is added, such as C(priority), C(cost), C(labels),
        C(worker_type), C(bootstrap_port), C(model_id). They are the fields of the router's own C(POST /workers).
      - They win over O(records) and O(record_file). A worker that is present is not changed.
      - C(sglang-router) does not show a worker's own health check settings. Give those here if a worker has any.
    type: dict
    default: {}
  records:
    description: The RV(records) of an earlier task, to add the worker with the settings that it had.
    type: dict
  record_file:
    description:
      - File on this host, one for each worker, that keeps what RV(records) returns. It is written before the worker is
        removed and read when it is added, so the settings outlive a run that is interrupted. It holds no key.
      - Its folder must exist.
    type: path
  allow_last:
    description: Whether the last healthy worker of a model may be removed. Requests for that model fail then.
    type: bool
    default: false
  timeout:
    description:
      - How long each router may take to follow, in seconds.
      - A new worker is healthy within a second. One that the router holds for unhealthy becomes healthy again after two
        health checks, which are a minute apart by default. C(smg) takes five seconds to remove a worker.
    type: float
    default: 180
  drain_timeout:
    description:
      - How long the server may take to finish its requests, in seconds.
      - Set it to the longest generation that is allowed.
    type: float
    default: 600
  on_deadline:
    description:
      - What to do when the server is still busy after O(drain_timeout).
      - V(fail) gives the server back to the routers and fails.
      - V(continue) goes on. Whoever stops the server then breaks the requests that are left.
    type: str
    choices: [fail, continue]
    default: fail
  ca_path:
    description: File on this host with the certificate of a private CA that has signed the certificates in use.
    type: path
  validate_certs:
    description: Whether a certificate must be valid for the address it is used under.
    type: bool
    default: true
requirements:
  - The Python library requests, in the interpreter that runs the module. The server's own virtual environment has it.
seealso:
  - module: llmops.sglang.server_ready
  - module: llmops.sglang.mtp_prove
"""

EXAMPLES = r"""
- name: Take the server out of both routers, and wait until it has finished its requests
  llmops.sglang.router_worker:
    state: drained
    router_urls:
      - http://router1:30080
      - http://router2:30080
    api_key_file: /etc/sglang/router-key
    worker_url: "http://{{ inventory_hostname }}:30000"
    server_url: http://127.0.0.1:30000
    worker_api_key_file: /etc/sglang/api-key
    record_file: /var/lib/llmops-sglang/router-record.json
    drain_timeout: 900

- name: Put it back with the settings that it had
  llmops.sglang.router_worker:
    state: present
    router_urls:
      - http://router1:30080
      - http://router2:30080
    api_key_file: /etc/sglang/router-key
    worker_url: "http://{{ inventory_hostname }}:30000"
    server_url: http://127.0.0.1:30000
    worker_api_key_file: /etc/sglang/api-key
    record_file: /var/lib/llmops-sglang/router-record.json

- name: Add a new server from the controller, preferred over others
  llmops.sglang.router_worker:
    router_urls: http://router1:30080
    api_key: "{{ router_key }}"
    worker_url: http://gpu09:30000
    settings:
      priority: 80
      labels:
        zone: b
  delegate_to: localhost
"""

RETURN = r"""
reason:
  description: What was done and what it rests on, in a sentence or two.
  type: str
  returned: success
  sample: >-
    http://gpu01:30000 was removed from http://router1:30080. The server at http://127.0.0.1:30000 was idle after 3.1 s
    (/v1/loads).
routers:
  description: The routers as they were found.
  type: list
  elements: dict
  returned: when all routers answered
  contains:
    url:
      description: Address of the router, with its port.
      type: str
      sample: http://router1:30080
    api:
      description: V(workers) for releases since 0.2.0 and C(smg), V(list_workers) for those up to 0.1.9.
      type: str
      sample: workers
    before:
      description:
        - V(present), V(absent), V(unhealthy) or V(draining).
        - The API V(list_workers) knows no health, so there a worker is V(present) or V(absent).
      type: str
      sample: present
records:
  description:
    - The settings of the worker by address of the router, for the option of the same name. It holds no key.
    - Settings of routers that do not list the worker at the moment are those of O(records) or O(record_file).
  type: dict
  returned: when all routers answered
  sample:
    http://router1:30080:
      priority: 80
      cost: 1.0
      worker_type: regular
      labels:
        zone: b
drain:
  description: How the wait for the server went. V(none) unless O(state=drained).
  type: dict
  returned: when all routers answered
  contains:
    idle:
      description: Whether the server has finished all requests. In check mode, whether it has none now.
      type: bool
    reason:
      description: One sentence on what that rests on.
      type: str
    seconds:
      description: How long the wait took, in seconds.
      type: float
      sample: 3.078
    requests:
      description: How many requests it was seen to work on last. V(none) when that could not be seen.
      type: int
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import router_change, server_options
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import Redactor
from ansible_collections.llmops.sglang.plugins.module_utils.router_api import RouterError, open_router
from ansible_collections.llmops.sglang.plugins.module_utils.router_membership import Membership
from ansible_collections.llmops.sglang.plugins.module_utils.router_record_file import RecordFileError, read_records
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi, ServerApiError, parse_url
from ansible_collections.llmops.sglang.plugins.module_utils.server_load import ServerLoad

SECONDS_FOR_AN_ANSWER = 10


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent", "drained"], "default": "present"},
            "router_urls": {"type": "list", "elements": "str", "required": True, "aliases": ["router_url"]},
            "worker_url": {"type": "str", "required": True},
            "server_url": {"type": "str"},
            "api_key": {"type": "str", "no_log": True},
            "api_key_file": {"type": "path", "no_log": False},
            "worker_api_key": {"type": "str", "no_log": True},
            "worker_api_key_file": {"type": "path", "no_log": False},
            "settings": {"type": "dict", "default": {}},
            "records": {"type": "dict"},
            "record_file": {"type": "path"},
            "allow_last": {"type": "bool", "default": False},
            "timeout": {"type": "float", "default": 180},
            "drain_timeout": {"type": "float", "default": 600},
            "on_deadline": {"type": "str", "choices": ["fail", "continue"], "default": "fail"},
            "ca_path": {"type": "path"},
            "validate_certs": {"type": "bool", "default": True},
        },
        mutually_exclusive=[
            ("api_key", "api_key_file"),
            ("worker_api_key", "worker_api_key_file"),
            ("records", "record_file"),
        ],
        supports_check_mode=True,
    )
    problem = option_problem(module.params)
    if problem:
        module.fail_json(msg=problem)
    membership = None
    try:
        keys = {name: read_key(module, name) for name in ("api_key", "worker_api_key")}
        membership = Membership(routers(module.params, keys), module.params["worker_url"], keys["worker_api_key"],
                                module.params["timeout"])
        result = change(module, membership, server(module.params, keys["worker_api_key"]))
    except router_change.ChangeError as error:
        known = {name: value for name, value in error.result.items() if name not in ("diff", "changed")}
        module.fail_json(msg=str(error), changed=membership.changed, **known)
    except (RouterError, RecordFileError, ServerApiError) as error:
        module.fail_json(msg=str(error), changed=bool(membership and membership.changed))
    if not module._diff:
        result.pop("diff")
    module.exit_json(**result)


def option_problem(options):
    """The first option that makes no sense, as one sentence; ``""`` when all do."""
    if not options["router_urls"]:
        return "router_urls is empty: name at least one router."
    for name in ("timeout", "drain_timeout"):
        if not options[name] > 0:
            return f"{name} is {options[name]:g}: give a number of seconds above 0."
    for name, option in (("api_key", "worker_api_key"), ("url", "worker_url")):
        if name in options["settings"]:
            return f"settings must not hold {name}: give it as {option}."
    records = options["records"] or {}
    if not all(isinstance(settings, dict) for settings in records.values()):
        return "records must be what an earlier router_worker returned as records: settings by address of the router."
    return ""


def read_key(module, name):
    key = server_options.api_key(module.params, name)
    if key:
        module.no_log_values.add(key)
    return key


def routers(options, keys):
    redactor = Redactor()
    for key in keys.values():
        redactor.learn(key)
    ca_path = server_options.ca_path(options)
    found = [
        open_router(url, keys["api_key"], redactor, ca_path, options["validate_certs"])
        for url in options["router_urls"]
    ]
    return list({router.url: router for router in found}.values())


def server(options, key):
    name = "server_url" if options["server_url"] else "worker_url"
    parse_url(options["worker_url"], "worker_url")
    parse_url(options[name], name)
    api = ServerApi(options[name], key, SECONDS_FOR_AN_ANSWER, options["ca_path"], options["validate_certs"])
    return router_change.Server(api, ServerLoad(api))


def change(module, membership, the_server):
    options = module.params
    records = options["records"] or {}
    if options["record_file"]:
        records = read_records(options["record_file"], options["worker_url"])
    wishes = router_change.Wishes(
        settings=options["settings"],
        records=records,
        record_file=options["record_file"] or "",
        allow_last=options["allow_last"],
        drain_timeout=options["drain_timeout"],
        go_on_when_busy=options["on_deadline"] == "continue",
        check_mode=module.check_mode,
    )
    if options["state"] == "present":
        return router_change.admit(membership, the_server, wishes)
    if options["state"] == "absent":
        return router_change.withdraw(membership, wishes)
    return router_change.drain_out(membership, the_server, wishes)


if __name__ == "__main__":
    main()
