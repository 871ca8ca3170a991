# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.router_record_file import (
    RecordFileError,
    read_records,
    write_records,
)

URL = "http://gpu01:30000"
RECORDS = {"http://r1:30080": {"priority": 80, "labels": {"zone": "b"}}}


def test_what_is_written_is_read_again(tmp_path):
    path = str(tmp_path / "record.json")
    write_records(path, URL, RECORDS)
    assert read_records(path, URL + "/") == RECORDS


def test_the_file_is_its_owners_alone_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "record.json"
    path.write_text("{}")
    path.chmod(0o644)
    write_records(str(path), URL, RECORDS)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["record.json"]


def test_no_file_is_no_record(tmp_path):
    assert read_records(str(tmp_path / "none"), URL) == {}


@pytest.mark.parametrize(
    "text",
    ["", "no json", "[]", '{"schema": 2}', '{"schema": 1, "worker_url": "u", "routers": {"r": 1}}', "\xff\xfe"],
)
def test_what_is_no_record_is_refused_with_its_path(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordFileError, match="record_file is .*record.json, which is no record of a worker"):
        read_records(str(path), URL)


def test_the_record_of_another_worker_is_refused(tmp_path):
    path = str(tmp_path / "record.json")
    write_records(path, URL, RECORDS)
    with pytest.raises(RecordFileError, match="the record of http://gpu01:30000 and not of http://gpu02:30000"):
        read_records(path, "http://gpu02:30000")


def test_a_folder_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(RecordFileError, match="record_file is .*missing/record.json, which can't be written: No such"):
        write_records(str(tmp_path / "missing" / "record.json"), URL, RECORDS)


def test_a_file_that_can_not_be_read_is_said(tmp_path):
    with pytest.raises(RecordFileError, match="which can't be read: Is a directory"):
        read_records(str(tmp_path), URL)


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "record.json"
    path.mkdir()
    with pytest.raises(RecordFileError, match="can't be written"):
        write_records(str(path), URL, RECORDS)
    assert os.listdir(tmp_path) == ["record.json"]


def test_the_file_says_whose_it_is(tmp_path):
    path = tmp_path / "record.json"
    write_records(str(path), URL, RECORDS)
    assert json.loads(path.read_text()) == {"schema": 1, "worker_url": URL, "routers": RECORDS}
