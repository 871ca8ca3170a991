# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stands in for each module that asks a server or a router; it answers from what the modelled node runs.

A server speculates when the unit it was started from asks for it, and proves it unless the node holds ``refuses``.
``proven`` lists the instances that passed the soak, ``in_router`` is there while the router sends requests.
"""

from __future__ import annotations

import json
import os
import pathlib

from ansible.module_utils import basic

NAME = "@NAME@"
NODE = pathlib.Path(os.environ["SCRIPTED_HOST"])
CONDITIONS = (
    "speculative_algorithm",
    "mamba_strategy",
    "disable_overlap_schedule",
    "draft_model",
    "mem_fraction_static",
)


def main():
    # It takes whatever options the role passes: their names are the real modules' concern.
    names = [name for name in basic._load_params() if not name.startswith("_ansible_")]
    module = basic.AnsibleModule(argument_spec={name: {"type": "raw"} for name in names}, supports_check_mode=True)
    answer = {"router_worker": route, "mtp_preflight": look, "server_ready": be_ready}.get(NAME, judge)
    module.exit_json(**answer(module.params))


def look(options):
    return {"sglang_version": "0.5.23", "problems": [], "requests_python": os.environ["SCRIPTED_PYTHON"]}


def be_ready(options):
    running = instance()
    return {"ready": bool(running), "failed": not running, "msg": "Nothing runs.", "instance": summary(running)}


def judge(options):
    """``mtp_verify``, ``mtp_prove`` and ``mtp_soak``: of exactly the instance that was asked for."""
    running = instance()
    wanted = options.get("invocation_id") or running.get("invocation_id")
    asked_for_speculation = NAME == "mtp_verify" or options.get("expect_speculation") not in (None, False)
    if not running or running["invocation_id"] != wanted:
        verdict, reason = "inconclusive", "This instance does not run."
    elif asked_for_speculation and not speculates(running):
        verdict, reason = "refuted", "It does not speculate."
    else:
        verdict, reason = "proven", "As asked."
        if NAME == "mtp_soak":
            append("proven", wanted)
    status = "met" if verdict == "proven" else "unmet"
    conditions = [{"name": name, "status": status, "expected": 1, "observed": 1} for name in CONDITIONS]
    failed = verdict != "proven" and not (NAME == "mtp_prove" and options.get("record"))
    return {
        "verdict": verdict,
        "reason": reason,
        "msg": reason,
        "failed": failed,
        "conditions": conditions,
        "instance": summary(running),
    }


def route(options):
    inside = NODE / "in_router"
    before = inside.exists()
    if options["state"] == "present":
        if not may_serve(instance()):
            append("faults", "a router was given a server without proof")
        inside.touch()
    elif before:
        inside.unlink()
    return {"changed": before != inside.exists(), "reason": "Done."}


def may_serve(running):
    """The old server may, and one with MTP once it is proven."""
    proven = (NODE / "proven").read_text().split() if (NODE / "proven").exists() else []
    return bool(running) and (not asks_for_speculation(running) or running["invocation_id"] in proven)


def speculates(running):
    return asks_for_speculation(running) and not (NODE / "refuses").exists()


def asks_for_speculation(running):
    return "--speculative-algorithm" in running["unit"]


def instance():
    path = NODE / "running.json"
    return json.loads(path.read_text()) if path.exists() else {}


def summary(running):
    pid, state = (running["pid"], "active (running)") if running else (0, "inactive (dead)")
    return {"invocation_id": running.get("invocation_id", ""), "main_pid": pid, "state": state, "restarts": 0}


def append(name, line):
    with open(NODE / name, "a", encoding="utf-8") as target:
        target.write(line + "\n")


if __name__ == "__main__":
    main()
