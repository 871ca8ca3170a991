from __future__ import annotations

import os
import stat

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file


def test_the_file_has_the_text_the_permissions_and_the_time_that_were_asked_for(tmp_path):
    path = tmp_path / "file"
    atomic_file.replace(str(path), "new\udce9", mode=0o644, written_at=1000.5)
    assert path.read_bytes() == b"new\xe9"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.stat().st_mtime == 1000.5


def test_only_its_owner_reads_a_file_unless_asked_otherwise(tmp_path):
    atomic_file.replace(str(tmp_path / "file"), "secret")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        atomic_file.replace(str(path), "new")
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_text() == "old"
