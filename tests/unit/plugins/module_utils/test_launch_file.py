from __future__ import annotations

import os

from ansible_collections.llmops.sglang.plugins.module_utils import launch_file


def test_a_file_is_put_back_as_it_was_read(tmp_path):
    path = tmp_path / "sglang" / "server.yaml"
    path.parent.mkdir()
    path.write_bytes(b"port: 1 # caf\xe9\r\n")
    path.chmod(0o604)
    os.utime(path, (1000.5, 1000.5))
    read = launch_file.read(str(path))
    path.unlink()
    path.parent.rmdir()
    launch_file.put(read)
    assert path.read_bytes() == b"port: 1 # caf\xe9\r\n"
    assert (path.stat().st_mode & 0o777, path.stat().st_mtime) == (0o604, 1000.5)
    assert os.listdir(path.parent) == ["server.yaml"]


def test_age_alone_makes_no_difference(tmp_path):
    (tmp_path / "a").write_text("x")
    before = launch_file.read(str(tmp_path / "a"))
    os.utime(tmp_path / "a", (1000.5, 1000.5))
    assert launch_file.read(str(tmp_path / "a")) == before
    (tmp_path / "a").chmod(0o600 if before.mode != 0o600 else 0o640)
    assert launch_file.read(str(tmp_path / "a")) != before


def test_a_link_is_read_as_one_or_for_what_it_leads_to(tmp_path):
    (tmp_path / "target").write_text("x")
    (tmp_path / "link").symlink_to("target")
    assert launch_file.read(str(tmp_path / "link")).text == "target"
    followed = launch_file.read(str(tmp_path / "link"), follow=True)
    assert (followed.path, followed.text, followed.is_link) == (str(tmp_path / "link"), "x", False)


def test_a_link_takes_the_place_of_a_file_in_one_step(tmp_path):
    (tmp_path / "a").symlink_to("/dev/null")
    link = launch_file.read(str(tmp_path / "a"))
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("x")
    launch_file.put(link)
    assert os.readlink(tmp_path / "a") == "/dev/null"
    assert os.listdir(tmp_path) == ["a"]


def test_nothing_and_what_is_no_file_is_none(tmp_path):
    assert launch_file.read(str(tmp_path / "gone")) is None
    assert launch_file.read(str(tmp_path)) is None
    assert launch_file.read("/dev/null") is None
