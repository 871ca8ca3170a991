from __future__ import annotations

import os
import subprocess

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.kept_launch import KeptLaunch, Launch
from ansible_collections.llmops.sglang.plugins.module_utils.launch_file import LaunchFile

OWNER = (os.geteuid(), os.getegid())


def file(path, text, written_at=1000.25, **other):
    return LaunchFile(str(path), text, 0o640, OWNER, written_at, **other)


def test_a_launch_is_read_as_it_was_written(tmp_path):
    unit = file("/etc/systemd/system/a.service", "caf\udce9\r\n")
    link = file("/etc/sglang/server.yaml", "server-2.yaml", is_link=True)
    kept = KeptLaunch(str(tmp_path / "state"), "proven", unit.path)
    kept.write(Launch(unit, (link,)))
    assert kept.read() == Launch(unit, (link,))
    assert [one.written_at for one in (kept.read().unit, *kept.read().parts)] == [1000.25, 1000.25]


def test_nothing_kept_and_no_unit_kept_are_told_apart(tmp_path):
    kept = KeptLaunch(str(tmp_path), "proven", "/etc/a.service")
    assert kept.read() is None
    kept.write(Launch(None, ()))
    assert kept.read() == Launch(None, ())
    assert (tmp_path / "proven.service").read_text() == ""


def test_a_person_puts_the_files_back_with_tar(tmp_path):
    kept = KeptLaunch(str(tmp_path / "state"), "proven", "/etc/a.service")
    kept.write(Launch(file("/etc/a.service", "unit"), (file("/etc/sglang/server.yaml", "port: 1"),)))
    (tmp_path / "root").mkdir()
    archive = tmp_path / "state" / "proven.tar"
    subprocess.run(["tar", "-C", tmp_path / "root", "-xpf", archive], check=True, timeout=30)
    assert (tmp_path / "root/etc/sglang/server.yaml").read_text() == "port: 1"
    assert (tmp_path / "root/etc/sglang/server.yaml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "root/etc/a.service").stat().st_mtime == pytest.approx(1000.25)


def test_an_archive_of_a_unit_in_another_folder_does_not_make_the_unit_disappear(tmp_path):
    KeptLaunch(str(tmp_path), "proven", "/etc/a.service").write(Launch(file("/etc/a.service", "unit"), ()))
    elsewhere = KeptLaunch(str(tmp_path), "proven", "/run/a.service").read()
    assert (elsewhere.unit.path, elsewhere.text, elsewhere.parts) == ("/run/a.service", "unit", None)
