#!/usr/bin/python
# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mtp_prove
short_description: Prove that a SGLang server generates, that it accepts drafts, and that its output is right
version_added: 0.1.0
author:
  - The llmops.sglang authors (@llmops)
description:
  - Sends completions in natural language to a server, several at the same time, and judges the answers.
  - The server generates if every request is answered within its deadline.
  - Drafts are accepted if enough of the proposed drafts were correct. Where a release does not count drafts (before
    0.5.6), the accept length is judged instead. A server whose MTP weights were silently dropped starts, logs and
    answers like any other. Here it is refuted.
  - The output is right if the same prompt gives the same tokens twice at temperature 0, and if the answers agree with
    those that were recorded on the server before the change (O(record), then O(reference)). Speculation changes no
    output.
  - Needs nothing but the server's API, and works against any server that is reachable.
extends_documentation_fragment:
  - llmops.sglang.server
attributes:
  check_mode:
    description: Sends the same requests and judges them. O(record) is not written.
    support: full
  diff_mode:
    description: The recorded answers are not shown as a difference.
    support: none
options:
  requests:
    description: How many completions to ask for. One prompt is sent twice, so at least 2.
    type: int
    default: 6
  concurrency:
    description: How many of them are under way at the same time. The prompt that is sent twice always runs alone.
    type: int
    default: 4
  max_tokens:
    description: How many tokens each completion may have.
    type: int
    default: 128
  deadline:
    description:
      - Seconds that each request may take.
      - The first requests of a server may compile kernels, which takes up to a minute.
    type: float
    default: 120
  expect_speculation:
    description:
      - Whether drafts must be accepted. With V(false) the proof is that the server generates.
      - The default is V(true), and with O(record) V(false), since that is for the server before the change.
    type: bool
  min_accept_length:
    description:
      - The accept length that the drafts must make, in tokens for each verify step. 1 is a step without a correct
        draft.
      - With counts of drafts it is turned into the share of correct drafts that makes this length. So 1.3 takes 10 %
        with 3 drafts in a step.
    type: float
    default: 1.3
  record:
    description:
      - File on this host in which to record the answers and the capacity of the server. It is readable for its owner
        only.
      - It is written if the proof succeeds. The task is changed if the file is.
    type: path
  reference:
    description: File on this host that O(record) has written before the change, to compare the answers with.
    type: path
  min_matching_tokens:
    description:
      - How many tokens at its beginning each compared answer must have in common with the recorded one. An answer
        that is the same to its end agrees, however short it is.
      - Only prompts that leave the model hardly a choice are compared. Kernels for a single token and for several
        differ in the last bits, so two tokens that are nearly as likely can change places.
      - With 0 the agreement is reported and not judged.
    type: int
    default: 16
  fail:
    description: Whether the task fails unless the verdict is V(proven).
    type: bool
    default: true
seealso:
  - module: llmops.sglang.server_ready
  - module: llmops.sglang.mtp_verify
"""

EXAMPLES = r"""
- name: Record what the old server answers, before it is restarted with MTP
  llmops.sglang.mtp_prove:
    url: http://127.0.0.1:30000
    record: /var/lib/llmops-sglang/sglang.service/reference.json

- name: Prove that MTP works and that the output is still the same
  llmops.sglang.mtp_prove:
    url: http://127.0.0.1:30000
    reference: /var/lib/llmops-sglang/sglang.service/reference.json

- name: Look at the accept length of a running server, and judge it in a later task
  llmops.sglang.mtp_prove:
    url: https://gpu01.example.com:30000
    api_key_file: /etc/sglang/api-key
    fail: false
  register: proof
"""

RETURN = r"""
verdict:
  description:
    - V(proven), V(refuted) if something speaks against it, V(inconclusive) if the evidence is missing.
  type: str
  returned: always
  sample: proven
reason:
  description: The sentences that decide the verdict.
  type: str
  returned: always
  sample: >-
    All 6 requests were answered, with 768 tokens. The same prompt twice gave the same 128 tokens. 462 of 804 drafts
    were correct (57 %, accept length 2.87), at least the 10 % that min_accept_length 1.30 takes.
accept_length:
  description:
    - New tokens for each verify step over all requests, as SGLang counts it. It includes the token of the prefill, so
      it is a little above 1 without any correct draft. V(none) when nothing shows it.
  type: float
  returned: always
  sample: 2.866
accept_length_source:
  description:
    - V(generate) if it is from these requests, V(server_info) if it is the server's average over all requests so far,
      V(metrics) if it is that of the server's last decode interval. Empty for none.
  type: str
  returned: always
  sample: generate
drafts:
  description: Drafts over all requests. V(none) where the release does not count them.
  type: dict
  returned: always
  contains:
    correct:
      description: How many were correct.
      type: int
    proposed:
      description: How many were proposed.
      type: int
tokens:
  description: New tokens over all requests.
  type: int
  returned: always
requests:
  description: The requests, in the order in which they were sent.
  type: list
  elements: dict
  returned: always
  contains:
    prompt:
      description: Name of the prompt.
      type: str
    seconds:
      description: How long it took.
      type: float
    tokens:
      description: How many new tokens the answer has.
      type: int
    accept_length:
      description: Its accept length. V(none) where no draft was verified.
      type: float
    error:
      description: Why it failed. Empty when it did not.
      type: str
reference:
  description: The comparison with O(reference). V(none) without it.
  type: dict
  returned: always
  contains:
    compared:
      description: How many answers were compared.
      type: int
    matching_tokens:
      description:
        - Tokens in common with the recorded answer, of the answer that parts first. V(none) when none was compared.
      type: int
    differences:
      description: The answers that part, the earliest first.
      type: list
      elements: dict
      contains:
        prompt:
          description: Name of the prompt.
          type: str
        at_token:
          description: How many tokens are the same before.
          type: int
        expected:
          description: The recorded text around that place.
          type: str
        got:
          description: The text now.
          type: str
capacity:
  description: What the server has room for. The difference is what MTP costs this host.
  type: dict
  returned: always
  contains:
    now:
      description: C(kv_tokens), the tokens of the KV cache, and C(running_requests), the limit of running requests.
      type: dict
    before:
      description: The same from O(reference). V(none) without it.
      type: dict
version:
  description: Release of SGLang, where the server says it. Else empty.
  type: str
  returned: always
  sample: 0.5.12
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.llmops.sglang.plugins.module_utils import generation, generation_proof, prompts, reference_file
from ansible_collections.llmops.sglang.plugins.module_utils.capacity import capacity
from ansible_collections.llmops.sglang.plugins.module_utils.reference_proof import settled_answers
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApiError
from ansible_collections.llmops.sglang.plugins.module_utils.server_options import ARGUMENTS, MUTUALLY_EXCLUSIVE, connect

SECONDS_FOR_INFORMATION = 20


def main():
    module = AnsibleModule(
        argument_spec=dict(
            ARGUMENTS,
            requests={"type": "int", "default": 6},
            concurrency={"type": "int", "default": 4},
            max_tokens={"type": "int", "default": 128, "no_log": False},
            deadline={"type": "float", "default": 120},
            expect_speculation={"type": "bool"},
            min_accept_length={"type": "float", "default": 1.3},
            record={"type": "path"},
            reference={"type": "path"},
            min_matching_tokens={"type": "int", "default": 16, "no_log": False},
            fail={"type": "bool", "default": True},
        ),
        mutually_exclusive=MUTUALLY_EXCLUSIVE,
        supports_check_mode=True,
    )
    problem = generation_proof.option_problem(module.params)
    if problem:
        module.fail_json(msg=problem)
    try:
        prove(module)
    except (ServerApiError, reference_file.ReferenceFileError) as error:
        module.fail_json(msg=str(error))


def prove(module):
    options = module.params
    evidence = gather(options, connect(module, SECONDS_FOR_INFORMATION))
    proof = generation_proof.judge(evidence, wishes(options))
    proven = proof.verdict == "proven"
    result = describe(proof, evidence)
    if options["record"] and proven:
        result["changed"] = reference_file.write(options["record"], to_record(evidence), module.check_mode)
    if options["fail"] and not proven:
        module.fail_json(msg=f"The proof is {proof.verdict}: {proof.reason}", **result)
    module.exit_json(**result)


def gather(options, api):
    """All that is asked of the server, in this order: a broken reference is found before anything is sent."""
    reference = reference_file.read("reference", options["reference"]) if options["reference"] else None
    completions = generation.run(
        api,
        prompts.plan(options["requests"]),
        options["max_tokens"],
        options["deadline"],
        options["concurrency"],
    )
    answered = any(completion.output for completion in completions)
    server_info = api.server_info()[1] if answered else None
    metrics = api.get("/metrics") if answered else None
    return generation_proof.Evidence(
        completions, server_info, metrics.body if metrics and metrics.ok else "", reference
    )


def wishes(options):
    expected = options["expect_speculation"]
    return generation_proof.Wishes(
        min_accept_length=options["min_accept_length"],
        min_matching_tokens=options["min_matching_tokens"],
        expect_speculation=not options["record"] if expected is None else expected,
    )


def to_record(evidence):
    return reference_file.Reference(
        model=evidence.model,
        version=evidence.version,
        capacity=capacity(evidence.server_info or {}),
        answers={prompt.text: output for prompt, output in settled_answers(evidence.completions).items()},
    )


def describe(proof, evidence):
    """The module's result."""
    drafts, comparison, reference = proof.drafts, proof.comparison, evidence.reference
    counts = drafts.counts if drafts.counts and drafts.counts.has_counts else None
    return {
        "changed": False,
        "verdict": proof.verdict,
        "reason": proof.reason,
        "accept_length": round(drafts.accept_length, 3) if drafts.source else None,
        "accept_length_source": drafts.source,
        "drafts": {"correct": counts.correct, "proposed": counts.proposed} if counts else None,
        "tokens": evidence.tokens,
        "requests": [completion.summary() for completion in evidence.completions],
        "reference": comparison.summary() if comparison else None,
        "capacity": {"now": capacity(evidence.server_info or {}), "before": reference.capacity if reference else None},
        "version": evidence.version,
    }


if __name__ == "__main__":
    main()
