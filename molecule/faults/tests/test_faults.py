"""Each way a start can go wrong is refused with its reason, and the old server is back and ready."""

from __future__ import annotations

import os

import pytest
from testinfra.utils.ansible_runner import AnsibleRunner

testinfra_hosts = AnsibleRunner(os.environ["MOLECULE_INVENTORY_FILE"]).get_hosts("sglang")
# Each fault of the stand-in, the conditions that it turns, and words of the reason.
FAULTS = [
    ("flags-ignored", ["speculative_algorithm", "draft_model"], "runs without speculation"),
    ("algorithm-other", ["speculative_algorithm"], "EAGLE3"),
    ("mamba-no-buffer", ["mamba_strategy"], "no_buffer"),
    ("overlap-disabled", ["disable_overlap_schedule"], "overlap"),
    ("mem-fraction-other", ["mem_fraction_static"], "mem_fraction_static"),
    ("draft-not-loaded", ["draft_model"], "draft"),
    ("draft-missing-rank", ["draft_model"], "rank"),
    ("draft-other-class", ["draft_model"], "LlamaForCausalLM"),
    ("draft-missing", [], "died before it printed its arguments"),
    ("crash-after-draft-load", [], "died before it was up"),
    ("crash-in-warmup", [], "died before it was up"),
    ("crash-on-first-request", [], "the connection was closed before an answer came"),
    ("oom", [], "memory"),
    ("accept-nothing", [], "accept length"),
    ("garbage-output", [], "recorded"),
    ("unsteady-output", [], "same prompt twice"),
    ("hang-on-request=5", [], "no complete answer came in time"),
    ("start-fails-once-in=1", [], "died"),
]


@pytest.mark.parametrize(("fault", "conditions", "words"), FAULTS, ids=[fault for fault, *_rest in FAULTS])
def test_a_fault_is_refused_and_the_old_server_is_back(host, deploy, old_unit, fault, conditions, words):
    run = deploy(mtp_environment={"STANDIN_FAULT": fault})
    record = run.records[host.backend.get_hostname()]
    assert run.exit_code == 2
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert words in record["reason"]
    assert "The last known good server is back and ready." in record["reason"]
    unmet = [item["name"] for item in record["conditions"] if item["status"] == "unmet"]
    assert unmet == conditions


def test_a_server_that_never_gets_ready_is_no_proof_and_the_old_one_is_back(host, deploy, old_unit):
    run = deploy(mtp_environment={"STANDIN_FAULT": "never-ready"}, mtp_start_timeout=10)
    record = run.records[host.backend.get_hostname()]
    assert run.exit_code == 2
    assert (record["verdict"], record["action"]) == ("inconclusive", "rolled_back")
    assert {condition["status"] for condition in record["conditions"]} == {"met"}
    assert "ready" in record["reason"]


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("mtp_draft_model_path", "/shared/models/gone", "mtp_draft_model_path is /shared/models/gone"),
        ("mtp_model_path", "/etc/hostname", "mtp_model_path is /etc/hostname, which is no folder"),
        ("mtp_port", "eighty", "mtp_port"),
        ("mtp_port", 70000, "mtp_port is 70000"),
        ("mtp_python", "/nowhere/python", "mtp_python is /nowhere/python"),
        ("mtp_server_args", "--name 'unclosed", "mtp_server_args"),
        ("mtp_unit_directives", ["Nonsense"], "systemd-analyze"),
        ("mtp_expect", {"draft_rank": 4}, "draft_rank"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_changes_nothing(host, deploy, variable, value, words):
    def state():
        return host.check_output(
            "systemctl show --property=InvocationID sglang.service; sha256sum /etc/systemd/system/sglang.service"
        )

    before = state()
    run = deploy(**{variable: value})
    record = run.records[host.backend.get_hostname()]
    assert run.exit_code == 2
    assert words in record["reason"]
    assert record["action"] == "untouched"
    assert state() == before
