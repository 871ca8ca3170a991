# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llmops.sglang.plugins.modules import mtp_verify

CAPTURED = pathlib.Path(__file__).parents[2] / "fixtures" / "captured"
PROVEN = str(CAPTURED / "0.5.23-realserver-nextn-tp2-keys.log")
NOSPEC = str(CAPTURED / "0.5.12-realserver-cpu-nospec.log")
CRASHED = str(CAPTURED / "0.5.12-realserver-nextn-crash-after-draft-load.log")
EXPECT = {"speculative_algorithm": "NEXTN", "draft_model_class": "Qwen3_5ForCausalLMMTP"}


@pytest.fixture
def run(capsys):
    """Run the module with these arguments; its result, and all that it printed."""

    def run(**arguments):
        with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
            mtp_verify.main()
        printed = capsys.readouterr()
        result = json.loads(printed.out)
        assert bool(ended.value.code) == bool(result.get("failed"))
        return result, printed.out + printed.err

    return run


def test_a_proven_start_is_a_success_that_changes_nothing(run):
    result, _printed = run(log_file=PROVEN, expect=EXPECT)
    assert (result["verdict"], result["changed"]) == ("proven", False)
    assert [condition["name"] for condition in result["conditions"]] == [
        "speculative_algorithm",
        "mamba_strategy",
        "disable_overlap_schedule",
        "draft_model",
        "mem_fraction_static",
    ]


def test_a_start_that_is_not_proven_fails_with_verdict_and_reason_and_the_whole_result(run):
    result, _printed = run(log_file=NOSPEC, expect=EXPECT)
    assert result["failed"]
    assert result["msg"].startswith("MTP in the log %s is refuted: %s" % (NOSPEC, result["reason"]))
    assert result["conditions"] and result["diagnosis"] is not None and result["release"]["how"]


def test_without_fail_a_verdict_is_a_result_whatever_it_is(run):
    result, _printed = run(log_file=NOSPEC, expect=EXPECT, fail=False)
    assert result["verdict"] == "refuted"
    assert "msg" not in result


def test_check_mode_gives_the_same_verdict(run):
    assert run(log_file=PROVEN, expect=EXPECT, _ansible_check_mode=True)[0]["verdict"] == "proven"


def test_without_expectations_nothing_is_proven(run):
    assert run(log_file=PROVEN, fail=False)[0]["verdict"] == "inconclusive"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"log_file": "/does/not/exist"}, "log_file is /does/not/exist"),
        ({"log_file": PROVEN, "expect": {"speculative_algoritm": "NEXTN"}}, "speculative_algoritm"),
        ({"log_file": PROVEN, "expect": {"draft_ranks": "four"}}, "draft_ranks"),
        ({"log_file": PROVEN, "expect": {"mem_fraction_static": 75}}, "mem_fraction_static"),
        ({"log_file": PROVEN, "journal_directory": "/var/log/journal"}, "log_file|journal_directory"),
        ({"log_file": PROVEN, "invocation_id": "latest"}, "invocation_id"),
        ({"journal_directory": "/does/not/exist", "invocation_id": "a" * 32}, "journal_directory is /does/not/exist"),
        ({"fallback_url": "localhost:30000", "invocation_id": "a" * 32}, "fallback_url"),
    ],
)
def test_bad_input_fails_in_one_line_even_when_verdicts_do_not(run, arguments, words):
    result, _printed = run(fail=False, **arguments)
    assert result["failed"]
    assert "verdict" not in result
    assert "\n" not in result["msg"]
    assert any(word in result["msg"] for word in words.split("|"))


def test_no_secret_is_printed(run, tmp_path):
    key_file = tmp_path / "key"
    key_file.write_text("key-from-a-file\n")
    for arguments in (
        {"log_file": PROVEN, "expect": EXPECT},
        {"log_file": PROVEN, "expect": {"speculative_algorithm": "EAGLE3"}},
        {"fallback_url": "http://user:word@127.0.0.1:9", "api_key": "key-as-option", "invocation_id": "a" * 32},
        {"fallback_url": "http://127.0.0.1:9", "api_key_file": str(key_file), "invocation_id": "a" * 32},
    ):
        _result, printed = run(fail=False, **arguments)
        for secret in ("userkey", "adminkey", "key-as-option", "key-from-a-file"):
            assert secret not in printed
        assert "user:word" not in printed


def test_the_documented_options_are_the_ones_it_takes():
    documented = yaml.safe_load(mtp_verify.DOCUMENTATION)["options"]
    assert set(documented) == set(mtp_verify.ARGUMENTS)
    for name, argument in mtp_verify.ARGUMENTS.items():
        assert documented[name].get("default") == argument.get("default"), name
        assert documented[name]["type"] == argument["type"], name
    assert set(documented["expect"]["suboptions"]) == set(mtp_verify.ARGUMENTS["expect"]["options"])


def test_the_documented_results_are_the_ones_it_returns(run):
    result, _printed = run(log_file=CRASHED, expect=EXPECT, fail=False)
    documented = yaml.safe_load(mtp_verify.RETURN)
    assert set(documented) - {"followed"} == set(result) - {"changed", "invocation", "warnings"}
    for part in ("conditions", "phases", "diagnosis"):
        assert result[part], part
        assert set(documented[part]["contains"]) == set(result[part][0]), part
    assert set(documented["instance"]["contains"]) - {"replaced_by"} == set(result["instance"])
