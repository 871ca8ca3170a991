from __future__ import annotations

import os
import pathlib
import tarfile

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.unit_store import UnitStore

STARTED = 1000.0
BEFORE_THE_START = 500.0
AFTER_THE_START = 2000.0


class Node:
    """The files of a node: a unit that names a config file, drop-ins beside it, and the state folder."""

    def __init__(self, folder):
        self.units = folder / "units"
        self.state = folder / "state" / "sglang.service"
        self.config = folder / "server.yaml"
        self.units.mkdir(parents=True)
        self.store = UnitStore("sglang.service", str(self.units), str(folder / "state"))

    def unit(self, name):
        return "# %s\n[Service]\nExecStart=/x --config %s\n" % (name, self.config)

    def write_unit(self, text):
        pathlib.Path(self.store.path).write_text(text)

    def drop_in(self, name):
        return self.units / "sglang.service.d" / name

    def write_parts(self, config, written_at=BEFORE_THE_START, **drop_ins):
        """Make the config file and the drop-ins be these, and no others."""
        self.drop_in("").mkdir(exist_ok=True)
        for path in self.drop_in("").iterdir():
            path.unlink()
        contents = {self.drop_in(name + ".conf"): text for name, text in drop_ins.items()}
        for path, text in {**contents, self.config: config}.items():
            path.write_text(text)
            os.utime(path, (written_at, written_at))

    def launch(self):
        """The texts of all files that decide how the server starts, by name."""
        launch = self.store.on_disk
        files = [launch.unit, *launch.parts] if launch.unit else launch.parts
        return {os.path.basename(file.path): file.text for file in files}

    def kept(self, name):
        """The texts in the archive that is kept as ``name``."""
        with tarfile.open(self.state / (name + ".tar")) as archive:
            return {os.path.basename(entry.name): archive.extractfile(entry).read().decode() for entry in archive}


@pytest.fixture(autouse=True)
def no_waiting_for_the_medium(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


@pytest.fixture
def store(node):
    return node.store


@pytest.fixture
def interrupted(monkeypatch):
    """A function that interrupts another one before its n-th change of the disk, and tells whether it came to that."""

    def call(number, change):
        counts = [number]

        def counted(act):
            def step(*args, **options):
                counts[0] -= 1
                if counts[0] == 0:
                    raise KeyboardInterrupt
                return act(*args, **options)

            return step

        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "lchown"):
                patch.setattr(os, name, counted(getattr(os, name)))
            try:
                change()
            except KeyboardInterrupt:
                return True
        return False

    return call


def every_interruption(tmp_path, interrupted, prepare, change):
    """Nodes that ``prepare`` made, on each of which ``change`` was interrupted before another of its steps."""
    number = 0
    while True:
        number += 1
        node = Node(tmp_path / str(number))
        prepare(node)
        if not interrupted(number, lambda: change(node)):  # noqa: B023
            break
        yield node
    assert number > 3


def prove_first(node):
    """A node whose server was proven with its parts, and whose parts were changed since."""
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1", limits="old limits")
    node.store.install(node.unit("first"))
    node.write_parts("first: 1", limits="first limits", cores="first cores")
    node.store.mark_proven()
    node.write_parts("second: 1", AFTER_THE_START, limits="second limits", added="second alone")


def first_launch(node):
    return {
        "sglang.service": node.unit("first"),
        "server.yaml": "first: 1",
        "limits.conf": "first limits",
        "cores.conf": "first cores",
    }


def go_back(node):
    node.store.restore(node.store.way_back(STARTED))


def test_the_unit_that_is_replaced_becomes_the_last_known_good(store, node):
    node.write_unit("old")
    store.install("new")
    assert store.current == "new"
    assert store.last_known_good.text == "old"
    assert (node.state / "last_known_good.service").read_text() == "old"
    assert store.unproven


def test_an_unproven_unit_never_becomes_the_last_known_good(store, node):
    node.write_unit("old")
    store.install("never proven")
    store.install("newer")
    assert store.last_known_good.text == "old"


def test_a_proven_unit_becomes_the_last_known_good_of_the_next(store, node):
    node.write_unit("old")
    store.install("proven")
    store.mark_proven()
    store.install("next")
    assert store.last_known_good.text == "proven"
    assert (node.state / "proven.service").read_text() == "proven"


def test_a_unit_edited_by_hand_is_not_lost(store, node):
    node.write_unit("old")
    store.install("new")
    node.write_unit("edited by hand")
    store.install("newer")
    assert store.last_known_good.text == "edited by hand"


def test_restoring_brings_the_last_known_good_and_keeps_what_it_replaced(store, node):
    node.write_unit("old")
    store.install("new")
    go_back(node)
    assert store.current == "old"
    assert not store.unproven
    assert (node.state / "replaced.service").read_text() == "new"


def test_restoring_where_there_was_no_unit_removes_it(store, node):
    store.install("first ever")
    assert store.last_known_good.unit is None
    go_back(node)
    assert store.current is None


def test_bytes_that_are_no_utf8_survive(store, node):
    content = b"# caf\xe9\r\n"
    pathlib.Path(store.path).write_bytes(content)
    node.drop_in("").mkdir()
    node.drop_in("a.conf").write_bytes(content)
    store.install("new")
    node.drop_in("a.conf").write_text("new")
    go_back(node)
    assert pathlib.Path(store.path).read_bytes() == content
    assert node.drop_in("a.conf").read_bytes() == content


def test_a_restored_unit_is_as_old_as_it_was_so_that_a_server_that_runs_it_is_not_restarted(store, node):
    node.write_unit("old")
    os.utime(store.path, (1000.5, 1000.5))
    store.install("new")
    go_back(node)
    assert store.on_disk.unit.written_at == 1000.5


def test_a_hand_edit_that_never_ran_does_not_replace_the_proven_unit_as_the_way_back(store, node):
    node.write_unit("old")
    store.install("proven")
    store.mark_proven()
    node.write_unit("broken edit")
    store.install("next", unit_runs=False)
    assert store.last_known_good.text == "proven"
    assert (node.state / "replaced.service").read_text() == "broken edit"


def test_before_the_first_proof_even_a_unit_that_does_not_run_is_the_way_back(store, node):
    node.write_unit("stopped")
    store.install("first", unit_runs=False, parts_run=False)
    assert store.last_known_good.text == "stopped"


def test_parts_that_were_changed_together_with_the_unit_go_back_to_what_was_proven(node):
    prove_first(node)
    node.store.install(node.unit("second"))
    assert node.launch()["limits.conf"] == "second limits"
    go_back(node)
    assert node.launch() == first_launch(node)


def test_parts_that_were_changed_alone_go_back_too(node):
    prove_first(node)
    node.store.install(node.unit("first") + "# other fingerprint\n")
    go_back(node)
    assert node.launch() == first_launch(node)


def test_what_a_way_back_takes_from_the_disk_is_kept(node):
    prove_first(node)
    node.store.install(node.unit("second"))
    go_back(node)
    assert node.kept("replaced") == {
        "sglang.service": node.unit("second"),
        "server.yaml": "second: 1",
        "limits.conf": "second limits",
        "added.conf": "second alone",
    }


def test_before_the_first_proof_the_parts_are_kept_as_they_are_found(node):
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1", limits="old limits")
    found = node.launch()
    node.store.install(node.unit("first"))
    node.write_parts("first: 1", added="first alone")
    go_back(node)
    assert node.launch() == found


@pytest.mark.parametrize(("parts_run", "config"), [(False, "old: 1"), (True, "second: 1")])
def test_the_next_attempt_after_a_way_back_keeps_what_was_put_back_as_long_as_that_is_what_runs(
    node, parts_run, config
):
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1")
    node.store.install(node.unit("first"))
    go_back(node)
    node.write_parts("second: 1")
    node.store.install(node.unit("second"), parts_run=parts_run)
    node.write_parts("third: 1")
    go_back(node)
    assert node.launch() == {"sglang.service": node.unit("old"), "server.yaml": config}


def test_parts_keep_their_mode_and_their_owner(node):
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1")
    owner = (12345, 12345) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(node.config, *owner)
    node.config.chmod(0o640)
    node.store.install(node.unit("first"))
    node.config.unlink()
    node.write_parts("first: 1")
    go_back(node)
    status = node.config.stat()
    assert (status.st_mode & 0o777, (status.st_uid, status.st_gid)) == (0o640, owner)
    assert node.store.way_back() == []


def test_what_is_kept_is_for_its_owner_only(node):
    prove_first(node)
    assert node.state.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in node.state.iterdir()} == {0}


@pytest.mark.parametrize(
    ("second_written_at", "age"), [(AFTER_THE_START, "that it had"), (BEFORE_THE_START, "of a new file")]
)
def test_a_part_that_the_server_has_loaded_is_replaced_by_a_new_file(node, second_written_at, age):
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1", 100.0)
    node.store.install(node.unit("first"))
    node.write_parts("first: 1", second_written_at)
    go_back(node)
    written_at = node.config.stat().st_mtime
    assert (written_at == 100.0) == (age == "that it had")
    assert (written_at > AFTER_THE_START) == (age == "of a new file")


def test_a_file_that_another_unit_names_too_is_left_alone(node):
    node.write_unit(node.unit("old"))
    node.write_parts("old: 1", limits="old limits")
    (node.units / "sglang-b.service").write_text("[Service]\nExecStart=/y --config %s --port 2\n" % node.config)
    node.store.install(node.unit("first"))
    node.write_parts("first: 1", limits="first limits")
    go_back(node)
    assert node.config.read_text() == "first: 1"
    assert node.launch() == {
        "sglang.service": node.unit("old"),
        "limits.conf": "old limits",
        "server.yaml": "first: 1",
    }


def test_a_file_that_another_unit_names_since_is_left_alone(node):
    prove_first(node)
    node.store.install(node.unit("second"))
    (node.units / "sglang-b.service").write_text("[Service]\nEnvironmentFile=-%s\n" % node.config)
    go_back(node)
    assert node.config.read_text() == "second: 1"


def test_a_link_goes_back_as_a_link(node):
    node.write_unit(node.unit("old"))
    node.drop_in("").mkdir()
    node.drop_in("masks.conf").symlink_to("/dev/null")
    node.config.symlink_to("server-1.yaml")
    node.store.install(node.unit("first"))
    node.drop_in("masks.conf").unlink()
    node.config.unlink()
    node.config.symlink_to("server-2.yaml")
    go_back(node)
    assert os.readlink(node.config) == "server-1.yaml"
    assert os.readlink(node.drop_in("masks.conf")) == "/dev/null"
    assert sorted(os.listdir(node.drop_in(""))) == ["masks.conf"]


def test_where_only_a_plain_unit_was_kept_the_parts_stay_as_they_are(node):
    node.write_unit("new")
    node.write_parts("config", limits="limits")
    node.state.mkdir(parents=True)
    (node.state / "last_known_good.service").write_text("old")
    go_back(node)
    assert node.launch() == {"sglang.service": "old", "limits.conf": "limits"}


def test_an_archive_that_is_none_is_an_error_and_no_way_back(node):
    prove_first(node)
    (node.state / "last_known_good.tar").write_text("x" * 1000)
    with pytest.raises(OSError, match=r"last_known_good\.tar can't be read"):
        node.store.way_back()


def test_an_interrupted_install_is_finished_by_the_next_and_keeps_the_way_back(tmp_path, interrupted):
    def install(node):
        node.store.install(node.unit("second"), parts_run=False)

    for node in every_interruption(tmp_path, interrupted, prove_first, install):
        install(node)
        assert (node.store.current, node.store.unproven) == (node.unit("second"), True)
        go_back(node)
        assert node.launch() == first_launch(node)
        assert not [name for name in os.listdir(node.units) if name.startswith(".")]


def deploy_second(node):
    prove_first(node)
    node.store.install(node.unit("second"), parts_run=False)


def test_an_interrupted_way_back_is_finished_by_the_next_and_nothing_is_lost(tmp_path, interrupted):
    for node in every_interruption(tmp_path, interrupted, deploy_second, go_back):
        go_back(node)
        assert node.launch() == first_launch(node)
        assert not node.store.unproven
        assert set(node.kept("replaced").values()) == {
            node.unit("second"),
            "second: 1",
            "second limits",
            "second alone",
        }


def test_after_an_interrupted_way_back_another_deployment_still_goes_back_to_what_was_proven(tmp_path, interrupted):
    for node in every_interruption(tmp_path, interrupted, deploy_second, go_back):
        node.write_parts("third: 1", AFTER_THE_START, third="third")
        node.store.install(node.unit("third"), unit_runs=False, parts_run=False)
        go_back(node)
        assert node.launch() == first_launch(node)


def test_an_interrupted_note_of_a_proof_is_made_by_the_next(tmp_path, interrupted):
    def mark_proven(node):
        node.store.mark_proven()

    for node in every_interruption(tmp_path, interrupted, deploy_second, mark_proven):
        assert node.store.unproven
        mark_proven(node)
        proven = node.launch()
        node.write_parts("third: 1", third="third")
        node.store.install(node.unit("third"), parts_run=False)
        go_back(node)
        assert node.launch() == proven


def test_a_proof_whose_note_was_interrupted_can_still_be_refuted(tmp_path, interrupted):
    for node in every_interruption(tmp_path, interrupted, deploy_second, lambda node: node.store.mark_proven()):
        go_back(node)
        assert node.launch() == first_launch(node)
