from __future__ import annotations

import os

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.unit_store import UnitStore


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "units").mkdir()
    return tmp_path


@pytest.fixture
def store(folders):
    return UnitStore("sglang.service", str(folders / "units"), str(folders / "state"))


def write_by_hand(store, text):
    with open(store.path, "w", encoding="utf-8") as unit:
        unit.write(text)


def test_the_unit_that_is_replaced_becomes_the_last_known_good(store):
    write_by_hand(store, "old")
    store.install("new")
    assert store.current == "new"
    assert store.last_known_good == "old"
    assert store.unproven


def test_an_unproven_unit_never_becomes_the_last_known_good(store):
    write_by_hand(store, "old")
    store.install("never proven")
    store.install("newer")
    assert store.last_known_good == "old"


def test_a_proven_unit_becomes_the_last_known_good_of_the_next(store):
    write_by_hand(store, "old")
    store.install("proven")
    store.mark_proven()
    store.install("next")
    assert store.last_known_good == "proven"


def test_a_unit_edited_by_hand_is_not_lost(store):
    write_by_hand(store, "old")
    store.install("new")
    write_by_hand(store, "edited by hand")
    store.install("newer")
    assert store.last_known_good == "edited by hand"


def test_restoring_brings_the_last_known_good_and_keeps_what_it_replaced(store, folders):
    write_by_hand(store, "old")
    store.install("new")
    store.restore()
    assert store.current == "old"
    assert not store.unproven
    assert (folders / "state" / "sglang.service" / "replaced.service").read_text() == "new"


def test_restoring_where_there_was_no_unit_removes_it(store):
    store.install("first ever")
    assert store.last_known_good == ""
    store.restore()
    assert store.current is None


def test_an_interrupted_install_still_knows_the_way_back(store, monkeypatch):
    write_by_hand(store, "old")
    replace = os.replace

    def stop_at_the_unit(source, target):
        if target == store.path:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stop_at_the_unit)
    with pytest.raises(KeyboardInterrupt):
        store.install("new")
    assert store.current == "old"
    assert store.last_known_good == "old"
    assert os.listdir(os.path.dirname(store.path)) == ["sglang.service"]


def test_bytes_that_are_no_utf8_survive(store):
    with open(store.path, "wb") as unit:
        unit.write(b"# caf\xe9\n")
    store.install("new")
    store.restore()
    with open(store.path, "rb") as unit:
        assert unit.read() == b"# caf\xe9\n"


def test_a_restored_unit_is_as_old_as_it_was_so_that_a_server_that_runs_it_is_not_restarted(store):
    write_by_hand(store, "old")
    os.utime(store.path, (1000.5, 1000.5))
    store.install("new")
    store.restore()
    assert store.modified_at() == 1000.5


def test_a_hand_edit_that_never_ran_does_not_replace_the_proven_unit_as_the_way_back(store, folders):
    write_by_hand(store, "old")
    store.install("proven")
    store.mark_proven()
    write_by_hand(store, "broken edit")
    store.install("next", current_runs=False)
    assert store.last_known_good == "proven"
    assert (folders / "state" / "sglang.service" / "replaced.service").read_text() == "broken edit"


def test_before_the_first_proof_even_a_unit_that_does_not_run_is_the_way_back(store):
    write_by_hand(store, "stopped")
    store.install("first", current_runs=False)
    assert store.last_known_good == "stopped"
