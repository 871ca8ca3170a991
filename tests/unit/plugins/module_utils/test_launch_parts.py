from __future__ import annotations

import os

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import launch_parts


@pytest.fixture
def write(tmp_path):
    def write(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def names(parts):
    return [os.path.basename(part.path) for part in parts]


def test_parts_are_the_units_own_drop_ins_and_the_files_that_it_names(write):
    text = "[Service]\nExecStart=/x --config %s\n" % write("server.yaml", "port: 1")
    unit = write("units/sglang@a.service", text)
    write("units/sglang@a.service.d/limits.conf", "[Service]\nEnvironmentFile=%s\n" % write("a.env"))
    write("units/sglang@a.service.d/notes.txt")
    write("units/sglang@.service.d/shared.conf")
    write("units/sglang@b.service.d/others.conf")
    write("units/service.d/all.conf")
    assert names(launch_parts.find(unit, text)) == ["a.env", "server.yaml", "limits.conf"]


def test_a_file_that_is_missing_or_no_file_is_no_part(write, tmp_path):
    text = "ExecStart=/x --config %s\nEnvironmentFile=-%s\n" % (tmp_path, tmp_path / "gone")
    assert launch_parts.find(write("units/a.service", text), text) == ()


def test_no_unit_has_its_drop_ins_all_the_same(write, tmp_path):
    write("units/a.service.d/early.conf")
    assert names(launch_parts.find(str(tmp_path / "units" / "a.service"), "")) == ["early.conf"]


@pytest.mark.parametrize("other", ["units/b.service", "units/b.service.d/x.conf", "units/sglang@.service"])
def test_a_file_that_another_unit_names_too_is_a_part_and_is_known_as_shared(write, other):
    config = write("server.yaml")
    text = "ExecStart=/x --config %s\n" % config
    unit = write("units/a.service", text)
    assert not launch_parts.named_elsewhere(unit, str(config))
    write(other, "[Service]\nEnvironmentFile=-%s\n" % config)
    assert launch_parts.named_elsewhere(unit, str(config))
    # Whether the other unit is there must not make this one look changed.
    assert names(launch_parts.find(unit, text)) == ["server.yaml"]


def test_another_name_of_the_unit_and_a_longer_path_are_no_other_use(write, tmp_path):
    config = write("server.yaml")
    text = "ExecStart=/x --config %s\n" % config
    unit = write("units/a.service", text)
    (tmp_path / "units" / "alias.service").symlink_to("a.service")
    write("units/b.service", "ExecStart=/x --config %s.old --config /srv%s\n" % (config, config))
    assert not launch_parts.named_elsewhere(unit, str(config))


def test_the_environment_of_the_whole_system_is_no_part():
    assert launch_parts.find("/nowhere/a.service", "[Service]\nEnvironmentFile=/etc/environment\n") == ()
