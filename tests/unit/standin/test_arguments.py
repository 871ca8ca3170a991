# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which command lines a release takes, and how it refuses the others; what the environment may ask for."""

from __future__ import annotations

import pytest
from sglang.arguments import parse_arguments
from sglang.banner import read_template
from sglang.faults import Faults
from sglang.releases import Release
from sglang.settings import SettingsError, read_settings


def parse(release: str, *flags: str) -> tuple[dict, list[str]]:
    known = Release(release)
    return parse_arguments(["--model-path", "/m", *flags], known, read_template(known))


def test_only_what_was_given_comes_back_with_its_type():
    given, _warnings = parse("0.5.23", "--tp-size", "4", "--mem-fraction-static", "0.75", "--enable-metrics")
    assert given == {"model_path": "/m", "tp_size": 4, "mem_fraction_static": 0.75, "enable_metrics": True}


def test_long_names_mean_the_same():
    given, _warnings = parse("0.5.23", "--tensor-parallel-size", "2", "--speculative-draft-model-path", "/d")
    assert (given["tp_size"], given["speculative_draft_model_path"]) == (2, "/d")


@pytest.mark.parametrize(
    "release, flags, complaint",
    [
        ("0.5.23", ["--mamba-scheduler-strategy", "extra_buffer"], "unrecognized arguments: --mamba-scheduler"),
        ("0.5.12", ["--mamba-radix-cache-strategy", "extra_buffer"], "unrecognized arguments: --mamba-radix-cache"),
        ("0.5.12", ["--mamba-scheduler-strategy", "some_buffer"], "invalid choice: 'some_buffer'"),
        ("0.5.10", ["--speculative-algorithm", "MTP"], "invalid choice: 'MTP'"),
        ("0.5.23", ["--port", "http"], "argument --port: invalid int value: 'http'"),
        ("0.5.23", ["--draft-tokens", "4"], "unrecognized arguments: --draft-tokens"),
    ],
)
def test_a_flag_the_release_does_not_know_ends_with_2_and_its_name(capsys, release, flags, complaint):
    with pytest.raises(SystemExit) as end:
        parse(release, *flags)
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("usage: launch_server.py")
    assert complaint in message.splitlines()[-1]


@pytest.mark.parametrize("release, warned", [("0.5.12", False), ("0.5.14", True), ("0.5.19", True)])
def test_the_old_mamba_flag_is_deprecated_for_six_releases(release, warned):
    given, warnings = parse(release, "--mamba-scheduler-strategy", "extra_buffer")
    assert given[Release(release).mamba_field] == "extra_buffer"
    assert bool(warnings) is warned


def test_a_config_file_stands_before_the_command_line(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("# keys stay off the command line\napi-key: 'sk-1'\nport: 31000\nenable-metrics: true\n")
    given, _warnings = parse("0.5.23", "--config", str(config), "--port", "32000")
    assert (given["api_key"], given["port"], given["enable_metrics"]) == ("sk-1", 32000, True)


@pytest.mark.parametrize(
    "environ, complaint",
    [
        ({"STANDIN_FAULT": "explode"}, "there is no fault 'explode'; the faults are flags-ignored,"),
        ({"STANDIN_FAULT": "hang-on-request"}, "hang-on-request needs =N"),
        ({"STANDIN_FAULT": "oom=3"}, "oom takes no number"),
        ({"STANDIN_FAULT": "hang-on-request=0"}, "N must be 1 or more"),
        ({"STANDIN_FAULT": "start-fails-once-in=2"}, "set STANDIN_STATE_FILE"),
        ({"STANDIN_LOAD_SECONDS": "soon"}, "STANDIN_LOAD_SECONDS=soon is no number"),
        ({"STANDIN_LOAD_SECONDS": "-1"}, "STANDIN_LOAD_SECONDS=-1 is negative"),
        ({"STANDIN_TOKENS_PER_SECOND": "0"}, "STANDIN_TOKENS_PER_SECOND=0"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(environ, complaint):
    with pytest.raises(SettingsError) as refusal:
        read_settings(environ)
    assert complaint in str(refusal.value)


def test_several_faults_at_once():
    faults = Faults.parse("overlap-disabled, hang-on-request=3")
    assert "overlap-disabled" in faults and faults.count("hang-on-request") == 3 and "oom" not in faults


def test_an_unknown_fault_ends_the_start_in_one_sentence(start):
    standin = start(fault="explode")
    assert standin.wait_for_end() == 1
    assert len(standin.log) == 1
    assert standin.log[0].startswith("SGLang stand-in: STANDIN_FAULT=explode: there is no fault 'explode'")
