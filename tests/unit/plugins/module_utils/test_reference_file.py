# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import reference_file
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output
from ansible_collections.llmops.sglang.plugins.module_utils.reference_file import Reference, ReferenceFileError

REFERENCE = Reference(
    model="/shared/models/target",
    version="0.5.12",
    capacity={"kv_tokens": 20000, "running_requests": 48},
    answers={"Once upon": Output("a time ü \ud800", (1, 2), 2, "length"), "Twice": Output("upon", (), 1, "stop")},
)


def test_what_is_written_is_read_again(tmp_path):
    path = str(tmp_path / "reference.json")
    assert reference_file.write(path, REFERENCE) is True
    assert reference_file.read("reference", path) == REFERENCE


def test_only_the_owner_may_read_it_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "reference.json"
    reference_file.write(str(path), REFERENCE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["reference.json"]


def test_the_same_again_changes_nothing(tmp_path):
    path = tmp_path / "reference.json"
    reference_file.write(str(path), REFERENCE)
    before = path.stat().st_ino
    assert reference_file.write(str(path), REFERENCE) is False
    assert path.stat().st_ino == before


def test_check_mode_says_and_writes_not(tmp_path):
    path = tmp_path / "reference.json"
    assert reference_file.write(str(path), REFERENCE, check_mode=True) is True
    assert not path.exists()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "reference.json"
    path.write_text("old")

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reference_file.os, "replace", fail)
    with pytest.raises(ReferenceFileError, match="record is .* No space left"):
        reference_file.write(str(path), REFERENCE)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["reference.json"]


def test_a_place_that_is_none_is_named(tmp_path):
    for path in (str(tmp_path / "gone" / "reference.json"), str(tmp_path)):
        with pytest.raises(ReferenceFileError, match="record is %s: give a file" % path):
            reference_file.write(path, REFERENCE)


def test_a_missing_file_is_named():
    with pytest.raises(ReferenceFileError, match="reference is /nowhere/r.json, which can't be read: No such file"):
        reference_file.read("reference", "/nowhere/r.json")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "else"}', "\0", "[" * 100000])
def test_a_file_that_is_something_else_is_named(tmp_path, content):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(ReferenceFileError, match="no recording of mtp_prove"):
        reference_file.read("reference", str(tmp_path / "r.json"))


@pytest.mark.parametrize("damage", [{"answers": None}, {"answers": [{}]}, {"answers": [1]}, {"capacity": 3}])
def test_a_damaged_recording_is_called_that(tmp_path, damage):
    path = tmp_path / "r.json"
    reference_file.write(str(path), REFERENCE)
    path.write_text(json.dumps(dict(json.loads(path.read_text()), **damage)))
    with pytest.raises(ReferenceFileError, match="damaged recording"):
        reference_file.read("reference", str(path))
