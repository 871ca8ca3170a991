#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mtp_preflight
short_description: Look at a node before its server is touched
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Checks everything that would make a restart with MTP speculative decoding fail for a reason that shows beforehand,
    and reports all problems at once.
  - Finds out what the rest of a rollout needs to know about the node, namely the installed SGLang release, the target
    model's architecture, and a Python interpreter that has the C(requests) library.
  - Changes nothing.
attributes:
  check_mode:
    description: The module only reads, so it does the same in check mode.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
options:
  python:
    description: The interpreter that runs the server.
    type: path
    required: true
  model_path:
    description: Folder of the target model.
    type: path
    required: true
  draft_model_path:
    description: Folder of the draft model. Not looked at when it is not given.
    type: path
  port:
    description: Port of the server's HTTP endpoint.
    type: int
    default: 30000
  unit:
    description: Name of the unit. Not looked at when it is not given.
    type: str
  sglang_version:
    description: The SGLang release, where it is known better than the node's package metadata tells.
    type: str
  fail:
    description: Whether a problem fails the module. Switched off to learn about a node whose server only is to be read.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Look at the node before anything is changed
  llmops.sglang.mtp_preflight:
    python: /opt/sglang/venv/bin/python
    model_path: /shared/models/Qwen3.5-122B-A10B
    draft_model_path: /shared/models/Qwen3.5-122B-A10B-MTP
  register: preflight

- name: Poll the server with an interpreter that has the requests library
  llmops.sglang.server_ready:
    url: http://127.0.0.1:30000
  vars:
    ansible_python_interpreter: "{{ preflight.requests_python }}"
"""

RETURN = r"""
problems:
  description: What stands in the way, one sentence each. With O(fail=true) the module fails when there are any.
  type: list
  elements: str
  returned: always
sglang_version:
  description: Release of the installed SGLang package; empty when its metadata was not found.
  type: str
  returned: always
  sample: 0.5.23
target_architecture:
  description: First entry of C(architectures) in the target model's C(config.json); empty when there is none.
  type: str
  returned: always
  sample: Qwen3_5MoeForConditionalGeneration
draft_architecture:
  description: The same of the draft model; empty without O(draft_model_path).
  type: str
  returned: always
requests_python:
  description: An interpreter of this node that can import C(requests).
  type: str
  returned: always
  sample: /usr/bin/python3
"""

import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import node


def main():
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "model_path": {"type": "path", "required": True},
            "draft_model_path": {"type": "path"},
            "port": {"type": "int", "default": 30000},
            "unit": {"type": "str"},
            "sglang_version": {"type": "str"},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    python = module.params["python"]
    target = node.read_model("mtp_model_path", module.params["model_path"])
    draft = node.read_model("mtp_draft_model_path", module.params["draft_model_path"])
    requests_python = node.find_requests(module.run_command, [sys.executable, "/usr/bin/python3", python])
    problems = [
        *node.interpreter_problems(python),
        *target.problems,
        *draft.problems,
        *node.unit_problems(module.run_command, module.params["unit"]),
        *node.port_problems(module.params["port"]),
        *node.requests_problems(requests_python, python),
    ]
    result = {
        "problems": problems,
        "sglang_version": module.params["sglang_version"] or node.sglang_version(python),
        "target_architecture": target.architecture,
        "draft_architecture": draft.architecture,
        "requests_python": requests_python,
    }
    if problems and module.params["fail"]:
        module.fail_json(msg=" ".join(problems), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
