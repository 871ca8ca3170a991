# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import json
import tarfile

import pytest

from fleet import payload
from fleet.errors import FleetError
from fleet.node import Node

NODE = Node("gpu01", "trixie", "0.5.23")


@pytest.fixture
def standin(tmp_path):
    package = tmp_path / "sglang"
    (package / "__pycache__").mkdir(parents=True)
    (package / "launch_server.py").write_text("print('serving')\n", encoding="utf-8")
    (package / "__pycache__" / "launch_server.cpython-313.pyc").write_bytes(b"\0")
    return package


@pytest.fixture
def files(standin):
    return payload.files_for(NODE, standin, "ssh-ed25519 AAAA")


def test_the_stand_in_lies_in_the_servers_virtual_environment_of_that_suite(files):
    folder = "opt/sglang/venv/lib/python3.13/site-packages"
    assert files[f"{folder}/sglang/launch_server.py"] == b"print('serving')\n"
    assert b"\nVersion: 0.5.23\n" in files[f"{folder}/sglang-0.5.23.dist-info/METADATA"]
    assert not [path for path in files if path.endswith(".pyc")]


def test_the_unit_asks_for_no_speculation_and_for_a_model_that_is_there(files):
    unit = files[payload.UNIT].decode()
    assert "sglang.launch_server" in unit
    assert "speculative" not in unit
    assert "--model-path /shared/models/Qwen3.5-122B-A10B " in unit
    config = json.loads(files["shared/models/Qwen3.5-122B-A10B/config.json"])
    assert config["architectures"] == ["Qwen3_5MoeForConditionalGeneration"]


def test_everything_belongs_to_root_and_sudo_accepts_its_file(files):
    with tarfile.open(fileobj=io.BytesIO(payload.as_tar(files))) as archive:
        entries = {entry.name: entry for entry in archive}
    assert set(entries) == set(files)
    assert {(entry.uid, entry.gid) for entry in entries.values()} == {(0, 0)}
    assert entries["etc/sudoers.d/ops"].mode == 0o440
    assert entries["etc/ssh/authorized_keys"].mode == 0o644


def test_the_digest_follows_every_file(files):
    renamed = {path.replace("launch_server", "launch"): content for path, content in files.items()}
    changed = {**files, payload.UNIT: files[payload.UNIT] + b"#"}
    assert len({payload.digest(files), payload.digest(renamed), payload.digest(changed)}) == 3


def test_a_stand_in_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FleetError, match=f"There is no folder {tmp_path}/gone; --standin"):
        payload.files_for(NODE, tmp_path / "gone", "")
