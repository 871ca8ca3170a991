#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mtp_verify
short_description: Prove from its log that a SGLang server runs with MTP speculative decoding
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Reads what B(one) service instance of a SGLang server has logged since its start, and judges five conditions on it,
    namely O(expect.speculative_algorithm), O(expect.mamba_strategy), O(expect.disable_overlap_schedule), the draft
    model (O(expect.draft_model_class)) and O(expect.mem_fraction_static).
  - The instance is named by systemd's InvocationID. Time never chooses evidence, so lines of an earlier start, of
    another unit or of the instance that came after a crash are never mixed in.
  - Changes nothing. It works at any time, on any running server, whether this collection has deployed it or not.
attributes:
  check_mode:
    description: The module only reads. In check mode it does not wait, but judges what is there (see O(follow)).
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
options:
  unit:
    description: The systemd unit that runs the server. An instance of a template unit is V(sglang@a.service).
    type: str
    default: sglang.service
  invocation_id:
    description:
      - The service instance to judge, 32 hexadecimal digits, as C(systemctl show -p InvocationID) and
        M(llmops.sglang.service_restart) give it.
      - Without it, the instance that O(unit) has now is judged. Give the ID of the instance that you started, so that
        one which systemd started again after a crash is not taken for it.
    type: str
  journal_directory:
    description: Folder with journal files, where they are not in this host's own place (C(journalctl --directory)).
    type: path
  log_file:
    description:
      - A file on this host with a captured log that is judged instead of the journal. It holds the lines as the server
        printed them, or the output of C(journalctl -o json --all).
      - Of several starts in it the last one is judged. In the output of journalctl, O(unit) and O(invocation_id)
        choose.
      - What became of the server after the log ends can't be known.
    type: path
  follow:
    description:
      - Wait for evidence that is still to come, and return the moment the verdict is decided.
      - Ends early when the unit leaves the states active and activating, when the instance is replaced by another one,
        when a line appears after which no server goes on, and after O(progress_timeout).
    type: bool
    default: false
  timeout:
    description: Seconds that O(follow) waits in all.
    type: float
    default: 1800
  progress_timeout:
    description: Seconds without any new line after which O(follow) gives up.
    type: float
    default: 600
  fail:
    description:
      - Whether the task fails unless the verdict is V(proven). The result is complete in either case.
      - Bad input fails the task always.
    type: bool
    default: true
  sglang_version:
    description:
      - The SGLang release, such as V(0.5.12), for a log that does not tell it.
      - Without it the release is found from the shape and fields of the server's own lines, from the package metadata
        beside the interpreter that O(unit) runs, or from C(/server_info). What the server itself says is never
        overruled.
    type: str
  fallback_url:
    description:
      - Address of the server as this host reaches it, such as V(http://127.0.0.1:30000).
      - With it the server is asked too (C(/server_info), before SGLang 0.5.6 C(/get_server_info)). Its answer stands in
        for lines that the log does not have. Where log and answer disagree, the condition is unmet.
      - Needs the Python library requests in the interpreter that runs the module.
    type: str
  api_key:
    description: The key that the server at O(fallback_url) was started with (C(--api-key), not C(--admin-api-key)).
    type: str
  api_key_file:
    description: File on this host whose only line is the key. Use it instead of O(api_key).
    type: path
  ca_path:
    description: File on this host with the certificate of a private CA that has signed the server's certificate.
    type: path
  validate_certs:
    description: Whether an C(https) server must show a certificate that is valid for O(fallback_url).
    type: bool
    default: true
  expect:
    description:
      - What must be true of the server. What is left out is not asserted, and its condition is V(not_applicable).
      - Without any expectation there is nothing to prove, and the verdict is V(inconclusive).
    type: dict
    suboptions:
      speculative_algorithm:
        description:
          - The algorithm, as asked for or as resolved. V(NEXTN) means V(EAGLE), and V(FROZEN_KV_MTP) with the draft
            models that SGLang promotes to it. A list names several that are good.
        type: raw
      mamba_strategy:
        description:
          - The strategy of the mamba cache, such as V(extra_buffer). The field is C(mamba_scheduler_strategy) from
            SGLang 0.5.7 to 0.5.13 and C(mamba_radix_cache_strategy) from 0.5.14. A list names several that are good.
        type: raw
      disable_overlap_schedule:
        description: Whether the overlap schedule is off.
        type: bool
      draft_model_class:
        description:
          - Class of the draft model that every local rank must have loaded, such as V(Qwen3_5ForCausalLMMTP). A list
            names several that are good.
        type: raw
      draft_ranks:
        description:
          - How many ranks of this host must have loaded the draft model. Without it the number follows from the
            parallel sizes that the server prints.
        type: int
      draft_memory_gb:
        description: GB of memory that a rank's draft model takes, as the server prints them.
        type: float
      draft_memory_tolerance_gb:
        description: GB by which a rank's draft model may differ from O(expect.draft_memory_gb). Defaults to V(0.25).
        type: float
      mem_fraction_static:
        description: The fraction of a GPU's memory for weights and KV cache.
        type: float
      mem_fraction_tolerance:
        description:
          - How far the fraction may differ from O(expect.mem_fraction_static). Defaults to V(0.005), since the value
            that SGLang chooses by itself is no round number.
        type: float
seealso:
  - module: llmops.sglang.service_restart
  - module: llmops.sglang.server_ready
notes:
  - Needs to read the system's journal, so run it with C(become), or as a member of the group systemd-journal.
  - API keys, passwords and tokens that a server prints are removed before anything is returned.
  - The evidence model, release by release, stands in C(docs/evidence.md) of the collection.
"""

EXAMPLES = r"""
- name: Wait until the instance that was just started has proven MTP, or can't any more
  llmops.sglang.mtp_verify:
    unit: sglang.service
    invocation_id: "{{ restart.instance.invocation_id }}"
    follow: true
    timeout: 2400
    expect:
      speculative_algorithm: NEXTN
      mamba_strategy: extra_buffer
      disable_overlap_schedule: false
      draft_model_class: Qwen3_5ForCausalLMMTP
      draft_ranks: 4
      draft_memory_gb: 1.91
      mem_fraction_static: 0.75

- name: Audit a server that has been running for weeks, and ask it what its journal no longer tells
  llmops.sglang.mtp_verify:
    fallback_url: http://127.0.0.1:30000
    api_key_file: /etc/sglang/api_key
    fail: false
    expect:
      speculative_algorithm: NEXTN
      draft_model_class: Qwen3_5ForCausalLMMTP
  register: audit

- name: Judge a log that somebody sent
  llmops.sglang.mtp_verify:
    log_file: /tmp/sglang.log
    expect:
      speculative_algorithm: [EAGLE, FROZEN_KV_MTP]
  delegate_to: localhost
"""

RETURN = r"""
verdict:
  description:
    - V(proven) when every asserted condition is met, and at least one of them could not be without MTP.
    - V(refuted) when there is evidence against it.
    - V(inconclusive) when evidence is missing. It is never taken for either of the others.
  type: str
  returned: when the log could be read
  sample: proven
reason:
  description: What the verdict rests on, in a sentence or two.
  type: str
  returned: when the log could be read
conditions:
  description:
    - The five conditions, always in the order C(speculative_algorithm), C(mamba_strategy), C(disable_overlap_schedule),
      C(draft_model), C(mem_fraction_static).
  type: list
  elements: dict
  returned: when the log could be read
  contains:
    name:
      description: Name of the condition.
      type: str
    status:
      description: One of V(met), V(unmet), V(no_evidence), V(not_applicable).
      type: str
    expected:
      description: What was asserted.
      type: raw
    observed:
      description: What was seen.
      type: raw
    discriminates:
      description: Whether, in this release, the condition tells a server with MTP from one without.
      type: bool
    evidence:
      description: The lines it was seen in.
      type: list
      elements: dict
      contains:
        line:
          description: The line, shortened to what matters, with secrets removed.
          type: str
        timestamp:
          description: When it was logged, ISO 8601 in UTC; empty when the log does not tell.
          type: str
        rank:
          description: The rank that printed it, such as V(TP0).
          type: str
        cursor:
          description: Its place in the journal (C(journalctl --cursor)), or the number of its line in O(log_file).
          type: str
        source:
          description: V(log), or V(server_info) when the server itself was asked.
          type: str
    reason:
      description: Why the condition has this status.
      type: str
    remedy:
      description: What to do about it in this release; empty unless the condition is unmet.
      type: str
instance:
  description: The service instance that was judged.
  type: dict
  returned: when the log could be read
  contains:
    invocation_id:
      description: systemd's InvocationID; empty for a log file that does not tell.
      type: str
    main_pid:
      description: Process ID of the main process; V(0) when there is none.
      type: int
    state:
      description: Active state and sub state of the unit, or V(replaced), or V(unknown).
      type: str
      sample: active (running)
    restarts:
      description: How often systemd has restarted the service by itself.
      type: int
    replaced_by:
      description: InvocationID of the instance that runs instead.
      type: str
      returned: when the instance was replaced
release:
  description: The SGLang release that was assumed, a version or the oldest and newest that fit, and how it was found.
  type: dict
  returned: when the log could be read
phases:
  description: The steps of the start that are over, in order.
  type: list
  elements: dict
  returned: when the log could be read
  contains:
    name:
      description:
        - One of V(banner), V(target_weights), V(draft_weights), V(memory_pool), V(graphs), V(http), V(warm_up),
          V(ready).
      type: str
    seconds:
      description: Seconds that the step took since the one before it was over; none when the log has no times.
      type: float
    elapsed:
      description: Seconds from the first line of the start to the end of the step; none when the log has no times.
      type: float
diagnosis:
  description: What went wrong, in the order an operator would act; empty for a proven start.
  type: list
  elements: dict
  returned: when the log could be read
  contains:
    code:
      description: Name of the cause.
      type: str
    summary:
      description: What happened.
      type: str
    evidence:
      description: The lines that show it.
      type: list
      elements: dict
    remedy:
      description: What to do about it.
      type: str
followed:
  description: How O(follow) has ended.
  type: dict
  returned: when O(follow) is set, and not in check mode
  contains:
    ended:
      description:
        - One of V(decided), V(failed) (a fatal line), V(dead), V(replaced), V(silent) (O(progress_timeout)),
          V(timeout), V(past_start) (more lines than a start has, without a verdict), V(journal_ended), or V(unknown)
          when nothing is known of the instance, so that there is nothing to wait for.
      type: str
    seconds:
      description: How long it has waited.
      type: float
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import verification

ARGUMENTS = {
    "unit": {"type": "str", "default": "sglang.service"},
    "invocation_id": {"type": "str"},
    "journal_directory": {"type": "path"},
    "log_file": {"type": "path"},
    "follow": {"type": "bool", "default": False},
    "timeout": {"type": "float", "default": 1800},
    "progress_timeout": {"type": "float", "default": 600},
    "fail": {"type": "bool", "default": True},
    "sglang_version": {"type": "str"},
    "fallback_url": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "api_key_file": {"type": "path", "no_log": False},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "expect": {
        "type": "dict",
        "options": {
            "speculative_algorithm": {"type": "raw"},
            "mamba_strategy": {"type": "raw"},
            "disable_overlap_schedule": {"type": "bool"},
            "draft_model_class": {"type": "raw"},
            "draft_ranks": {"type": "int"},
            "draft_memory_gb": {"type": "float"},
            "draft_memory_tolerance_gb": {"type": "float"},
            "mem_fraction_static": {"type": "float"},
            "mem_fraction_tolerance": {"type": "float"},
        },
    },
}
MUTUALLY_EXCLUSIVE = [
    ("log_file", "journal_directory"),
    ("log_file", "fallback_url"),
    ("api_key", "api_key_file"),
]


def main():
    module = AnsibleModule(ARGUMENTS, mutually_exclusive=MUTUALLY_EXCLUSIVE, supports_check_mode=True)
    options = module.params
    try:
        server = connect(module) if options["fallback_url"] else None
        result = verification.verify(options, module.run_command, server, wait=not module.check_mode)
        result["changed"] = False
    except verification.BAD_INPUT as error:
        module.fail_json(msg=str(error))
    if options["fail"] and result["verdict"] != "proven":
        subject = verification.subject_of(options)
        module.fail_json(msg="%s is %s: %s." % (subject, result["verdict"], result["reason"].rstrip(".")), **result)
    module.exit_json(**result)


def connect(module):
    """The server to ask. A key from a file is hidden in all that the module returns."""
    from ansible_collections.llmops.sglang.plugins.module_utils import server_api, server_options

    options = module.params
    try:
        key = server_options.api_key(options)
        if key:
            module.no_log_values.add(key)
        return server_api.ServerApi(
            options["fallback_url"], key, ca_path=options["ca_path"], validate_certs=options["validate_certs"]
        )
    except server_api.ServerApiError as error:
        raise verification.UsageError("fallback_url can't be asked: %s" % error) from error


if __name__ == "__main__":
    main()
