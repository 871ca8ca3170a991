from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import ledger

FIELDS = {"batch": 1, "verdict": "proven", "reason": "r", "conditions": [], "invocation_id": "i", "action": "deployed"}


@pytest.fixture
def book(tmp_path):
    opened = ledger.Ledger(str(tmp_path / "mtp-ledger"), "deploy-1")
    opened.create()
    return opened


def test_a_record_is_one_file_named_after_the_host(book):
    book.write("gpu01", started_at="2026-11-29T10:00:00.000+00:00", **FIELDS)
    with open(os.path.join(book.root, "deploy-1", "gpu01.json"), encoding="utf-8") as source:
        record = json.load(source)
    assert set(record) >= {
        "schema",
        "rollout",
        "host",
        "batch",
        "attempt",
        "verdict",
        "reason",
        "conditions",
        "invocation_id",
        "started_at",
        "finished_at",
        "action",
    }
    assert (record["schema"], record["host"], record["attempt"]) == (1, "gpu01", 1)


def test_a_second_record_is_the_next_attempt(book):
    first = book.write("gpu01", **FIELDS)
    assert book.write("gpu01", **dict(FIELDS, verdict="refuted"))["attempt"] == 2
    assert book.read("gpu01")["verdict"] == "refuted"
    with open(os.path.join(book.folder, "earlier", "gpu01.1.json"), encoding="utf-8") as source:
        assert json.load(source) == first


def test_a_host_without_a_record_is_none(book):
    assert book.read("gpu09") is None


def test_a_broken_record_is_said_and_not_taken_for_none(book):
    with open(os.path.join(book.folder, "gpu01.json"), "w", encoding="utf-8") as target:
        target.write("{")
    with pytest.raises(ledger.LedgerError, match="gpu01.json"):
        book.read("gpu01")


@pytest.mark.parametrize("host", ["../outside", "a/b", ".hidden", "[2001:db8::1]", "..", "."])
def test_no_host_name_leads_out_of_the_folder(book, host):
    book.write(host, **FIELDS)
    assert book.read(host)["host"] == host
    assert os.listdir(book.root) == ["deploy-1"]
    assert len(os.listdir(book.folder)) == 1


def test_only_the_owner_reads_the_ledger(book):
    assert stat.S_IMODE(os.stat(book.folder).st_mode) == 0o700


def test_a_folder_that_can_not_be_made_names_the_variable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ledger.LedgerError, match="mtp_ledger_dir"):
        ledger.Ledger(str(tmp_path / "file"), "x").create()


def test_names_of_rollouts_sort_by_time():
    first = ledger.new_rollout("deploy")
    assert first.startswith("deploy-20")
    assert first <= ledger.new_rollout("deploy")


def test_a_folder_that_went_away_is_said(book):
    os.rmdir(book.folder)
    with pytest.raises(ledger.LedgerError, match="gpu01"):
        book.write("gpu01", **FIELDS)


def test_the_last_start_that_was_measured_is_remembered(tmp_path):
    for name, seconds in [("deploy-1", 90.0), ("deploy-2", 120.0), ("deploy-3", None), ("verify-4", 1.0)]:
        book = ledger.Ledger(str(tmp_path), name)
        book.create()
        book.write("gpu01", start_seconds=seconds, **FIELDS)
    assert ledger.latest_start_seconds(str(tmp_path), "gpu01") == 120.0
    assert ledger.latest_start_seconds(str(tmp_path), "gpu02") is None
    assert ledger.latest_start_seconds(str(tmp_path / "none"), "gpu01") is None
