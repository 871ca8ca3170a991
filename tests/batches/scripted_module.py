#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stands in for each module that touches a node: notes its call, and answers what the host's script says.

A host is a folder, named by the environment of its interpreter. ``calls`` in it lists the modules that acted, so a test
sees what happened on the host; ``script.json`` maps a module's name to the result that differs from the usual one.
"""

from __future__ import annotations

import json
import os

from ansible.module_utils import basic

NAME = "@NAME@"
INSTANCE = {"invocation_id": "i" * 32, "main_pid": 1, "state": "active (running)", "restarts": 0}
MET = [
    {"name": name, "status": "met", "expected": 1, "observed": 1}
    for name in (
        "speculative_algorithm",
        "mamba_strategy",
        "disable_overlap_schedule",
        "draft_model",
        "mem_fraction_static",
    )
]
USUAL = {
    "mtp_preflight": {"sglang_version": "0.5.23", "problems": []},
    "service_unit": {
        "restart_needed": True,
        "restart_reason": "scripted",
        "unproven": True,
        "removed": False,
        "port": 0,
        "host": "",
        "tls": False,
        "node_rank": 0,
        "running_node_rank": 0,
        "nothing_to_restore": False,
        "generation": "",
        "last_known_good_generation": "",
        "instance": INSTANCE,
    },
    "service_restart": {"instance": INSTANCE},
    "mtp_verify": {"verdict": "proven", "reason": "All five hold.", "conditions": MET, "instance": INSTANCE},
    "server_ready": {"ready": True, "instance": INSTANCE},
    "mtp_prove": {"verdict": "proven", "reason": "Drafts are accepted."},
    "router_worker": {"reason": "In all routers.", "routers": [], "records": {}},
    "mtp_soak": {"verdict": "proven", "reason": "It stayed healthy."},
}
CHANGES = ("service_unit", "service_restart")


def main():
    # It takes whatever options the role passes: their names are the real modules' concern.
    names = [name for name in basic._load_params() if not name.startswith("_ansible_")]
    module = basic.AnsibleModule(argument_spec={name: {"type": "raw"} for name in names}, supports_check_mode=True)
    state = module.params.get("state") or ""
    host = os.environ["SCRIPTED_HOST"]
    call = "%s %s" % (NAME, state) if state else NAME
    with open(os.path.join(host, "calls"), "a", encoding="utf-8") as calls:
        calls.write(call + "\n")
    with open(os.path.join(host, "script.json"), encoding="utf-8") as source:
        scripted = json.load(source)
    result = dict(USUAL[NAME], changed=NAME in CHANGES, requests_python=os.environ["SCRIPTED_PYTHON"])
    result.update(scripted.get(call, {}))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
