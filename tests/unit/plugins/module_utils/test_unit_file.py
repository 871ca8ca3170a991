from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import unit_file
from hypothesis import given
from hypothesis import strategies as st

UNIT = "[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/true\n"


def test_the_fingerprint_stands_in_the_service_and_is_read_back():
    marked = unit_file.with_fingerprint(UNIT)
    service = marked.partition("[Service]\n")[2]
    assert service.startswith("Environment=LLMOPS_SGLANG_UNIT=")
    assert unit_file.fingerprint(marked) in service


def test_marking_twice_is_marking_once():
    once = unit_file.with_fingerprint(UNIT)
    assert unit_file.with_fingerprint(once) == once


def test_another_text_has_another_fingerprint():
    other = UNIT.replace("/bin/true", "/bin/false")
    assert unit_file.fingerprint(unit_file.with_fingerprint(UNIT)) != unit_file.fingerprint(
        unit_file.with_fingerprint(other)
    )


def test_another_part_makes_another_fingerprint():
    launches = [(), [("/a", "1")], [("/a", "2")], [("/b", "1")], [("/a", "1"), ("/b", "1")]]
    fingerprints = {unit_file.fingerprint(unit_file.with_fingerprint(UNIT, parts)) for parts in launches}
    assert len(fingerprints) == len(launches)


def test_marking_again_with_other_parts_replaces_the_mark():
    first = unit_file.with_fingerprint(UNIT, [("/a", "1")])
    assert unit_file.with_fingerprint(first) == unit_file.with_fingerprint(UNIT)


def test_a_unit_that_this_collection_did_not_write_has_no_fingerprint():
    assert unit_file.fingerprint(UNIT) == ""


def test_a_text_without_a_service_is_refused():
    with pytest.raises(ValueError, match="Service"):
        unit_file.with_fingerprint("[Unit]\n")


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("--port", "--port"),
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("", '""'),
        (";", '";"'),
        ("two\nlines", '"two\\nlines"'),
    ],
)
def test_words_are_quoted_as_systemd_reads_them(word, quoted):
    assert unit_file.quote_word(word) == quoted


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"])))
def test_a_quoted_word_stays_on_one_line_and_keeps_its_text(word):
    quoted = unit_file.quote_word(word)
    inner = quoted[1:-1] if quoted.startswith('"') else quoted
    unescaped = (
        inner.replace("\\\\", "\0").replace('\\"', '"').replace("\0", "\\").replace("%%", "%").replace("$$", "$")
    )
    assert "\n" not in quoted
    assert unescaped == word


def test_an_environment_line_keeps_a_dollar_because_systemd_expands_none_there():
    assert unit_file.environment_line("A", "b c$d%") == 'Environment="A=b c$d%%"'


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("ExecStart=/x --port 30000", 30000),
        ("ExecStart=/x --port=31000 --y", 31000),
        ("ExecStart=/x --port 1 --port 2", 2),
        ('ExecStart=/x --port "30001"', 30001),
        ("ExecStart=/x --dist-port 7", 0),
        ("ExecStart=/x", 0),
    ],
)
def test_the_port_is_read_from_the_command_line(text, port):
    assert unit_file.port(text) == port


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ExecStart=/x --host 0.0.0.0 \\\n    --port 1", "0.0.0.0"),
        ("ExecStart=/x --host=::1 --y", "::1"),
        ('ExecStart=/x --host "gpu01" --host 10.0.0.5', "10.0.0.5"),
        ("ExecStart=/x --hostname a --dist-init-host b", ""),
    ],
)
def test_the_address_is_read_from_the_command_line(text, host):
    assert unit_file.host(text) == host


def test_a_command_has_a_line_per_flag():
    line = unit_file.exec_line(["/x/python", "-m", "server", "--port", "1", "--trust", "--name", "a b"])
    assert line.split(" \\\n    ") == ["/x/python -m server", "--port 1", "--trust", '--name "a b"']


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("ExecStart=/x --config /etc/s.yaml --port 1", ["/etc/s.yaml"]),
        ("ExecStart=/x --config=/etc/s.yaml", ["/etc/s.yaml"]),
        ("ExecStart=/x \\\n    --port 1 \\\n    --config /etc/s.yaml", ["/etc/s.yaml"]),
        ('ExecStart=/x --config "/etc/my server.yaml"', ["/etc/my server.yaml"]),
        ("ExecStart=/x --config /etc/100%%.yaml", ["/etc/100%.yaml"]),
        ("ExecStart=/x --config /etc/%i.yaml", []),
        ("ExecStart=/x --config ${CONFIG}", []),
        ("ExecStart=/x --config server.yaml", []),
        ("ExecStart=/x --config-dir /etc", []),
        ("# ExecStart=/x --config /etc/s.yaml", []),
        ("Environment=A=--config /etc/s.yaml", []),
        ("EnvironmentFile=/etc/a\nEnvironmentFile=-/etc/b", ["/etc/a", "/etc/b"]),
        ("EnvironmentFile=/etc/a\nEnvironmentFile=\nEnvironmentFile=/etc/b", ["/etc/b"]),
        ("EnvironmentFile=/etc/sglang/*.env", []),
        ("", []),
    ],
)
def test_the_files_that_a_unit_names_are_found(text, files):
    assert unit_file.named_files(["[Service]\n%s\n" % text]) == files


def test_drop_ins_add_files_and_may_take_back_the_units_own():
    unit = "ExecStart=/x --config /etc/unit.yaml\nEnvironmentFile=/etc/unit.env\n"
    assert unit_file.named_files([unit, "EnvironmentFile=/etc/a.env\n"]) == [
        "/etc/unit.env",
        "/etc/a.env",
        "/etc/unit.yaml",
    ]
    assert unit_file.named_files([unit, "EnvironmentFile=\nExecStart=\nExecStart=/y --config /etc/a.yaml\n"]) == [
        "/etc/a.yaml"
    ]


def test_the_last_command_line_is_in_force():
    texts = ["ExecStart=/x", "LimitNOFILE=1", "ExecStart = /y", "#ExecStart=/z"]
    assert unit_file.commanding(texts) == "ExecStart = /y"
    assert unit_file.commanding(["[Service]"]) == "[Service]"


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("ExecStart=/usr/bin/python3 \\\n    --nnodes 2 \\\n    --node-rank 1\n", 1),
        ("python -m sglang.launch_server --node-rank=3 --port 1", 3),
        ("python --node-rank 1 --node-rank 0", 0),
        ("python --port 30000", 0),
    ],
)
def test_the_rank_of_a_server_in_its_group(text, rank):
    assert unit_file.node_rank(text) == rank
