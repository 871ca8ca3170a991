"""What a user finds on the nodes, and in the ledger, after deploy_mtp.yml."""

from __future__ import annotations

import json
import os
import pathlib

import pytest
from testinfra.utils.ansible_runner import AnsibleRunner

INVENTORY = os.environ["MOLECULE_INVENTORY_FILE"]
LEDGER = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "ledger"
CONDITIONS = (
    "speculative_algorithm",
    "mamba_strategy",
    "disable_overlap_schedule",
    "draft_model",
    "mem_fraction_static",
)

testinfra_hosts = AnsibleRunner(INVENTORY).get_hosts("sglang")


@pytest.fixture
def unit(host):
    return host.file("/etc/systemd/system/sglang.service").content_string


@pytest.fixture
def invocation(host):
    return host.check_output("systemctl show --property=InvocationID --value sglang.service")


def latest_record(hostname, purpose):
    *_older, latest = sorted(LEDGER.glob("%s-*/%s.json" % (purpose, hostname)))
    return json.loads(latest.read_text(encoding="utf-8"))


def test_the_unit_asks_for_nextn_and_says_so(unit):
    assert "--speculative-algorithm NEXTN" in unit
    assert "--speculative-draft-model-path /shared/models/Qwen3.5-122B-A10B-MTP" in unit
    (description,) = [line for line in unit.splitlines() if line.startswith("Description=")]
    assert description.endswith("(MTP enabled)")


def test_the_running_instance_was_started_from_the_unit_on_disk(host, unit):
    pid = host.check_output("systemctl show --property=MainPID --value sglang.service")
    environment = host.check_output("tr '\\0' '\\n' < /proc/%s/environ", pid).splitlines()
    (fingerprint,) = [line for line in environment if line.startswith("LLMOPS_SGLANG_UNIT=")]
    assert "Environment=" + fingerprint in unit


def test_the_journal_of_this_instance_shows_the_server_speculating(host, invocation):
    lines = host.check_output("journalctl --all --output=cat _SYSTEMD_INVOCATION_ID=%s", invocation).splitlines()
    assert [line for line in lines if "server_args=" in line and "EAGLE" in line]
    drafts = [line for line in lines if "Load weight end" in line and "type=Qwen3_5ForCausalLMMTP" in line]
    assert len(drafts) == 4


def test_the_server_answers_with_accepted_drafts(host):
    asked = json.dumps({"text": "Hello", "sampling_params": {"max_new_tokens": 32, "temperature": 0}})
    answer = host.check_output(
        "curl --silent --fail --header 'Content-Type: application/json' --data %s http://127.0.0.1:30000/generate",
        asked,
    )
    meta = json.loads(answer)["meta_info"]
    assert meta["spec_verify_ct"] > 0
    assert meta["completion_tokens"] / meta["spec_verify_ct"] > 1.5


def test_the_way_back_is_the_unit_from_before(host):
    good = host.file("/var/lib/llmops-sglang/sglang.service/last_known_good.service").content_string
    assert "sglang.launch_server" in good
    assert "speculative" not in good
    assert not host.file("/var/lib/llmops-sglang/sglang.service/candidate").exists


def test_the_ledger_holds_the_proof(host, invocation):
    record = latest_record(host.backend.get_hostname(), "deploy")
    assert record["verdict"] == "proven"
    assert record["invocation_id"] == invocation
    assert [(condition["name"], condition["status"]) for condition in record["conditions"]] == [
        (name, "met") for name in CONDITIONS
    ]


def test_an_audit_of_the_running_fleet_is_proven_and_changes_nothing(host, invocation):
    record = latest_record(host.backend.get_hostname(), "verify")
    assert (record["verdict"], record["action"]) == ("proven", "untouched")
    assert record["invocation_id"] == invocation
