# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
import yaml
from ansible_collections.llmops.sglang.plugins.doc_fragments.server import ModuleDocFragment
from ansible_collections.llmops.sglang.plugins.module_utils import server_options
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApiError


def options(**given):
    return dict({name: spec.get("default") for name, spec in server_options.ARGUMENTS.items()}, **given)


def test_the_documentation_is_that_of_the_options():
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    kept = {
        name: {key: value for key, value in spec.items() if key != "no_log"}
        for name, spec in server_options.ARGUMENTS.items()
    }
    assert {name: {k: v for k, v in spec.items() if k != "description"} for name, spec in documented.items()} == kept


def test_a_key_comes_from_the_only_line_of_a_file(tmp_path):
    (tmp_path / "key").write_text("sk-from-file\n")
    assert server_options.api_key(options(api_key_file=str(tmp_path / "key"))) == "sk-from-file"


def test_no_key_is_none():
    assert server_options.api_key(options()) is None


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hunter2\nhunter3\n", b"hunter2\0"])
def test_a_file_that_holds_no_key_is_named_and_its_content_is_not(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(ServerApiError) as error:
        server_options.api_key(options(api_key_file=str(tmp_path / "key")))
    assert "api_key_file %s" % (tmp_path / "key") in str(error.value)
    assert "hunter" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\xff"])
def test_a_file_that_can_not_be_read_is_named(tmp_path, content):
    if content:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(ServerApiError, match="api_key_file is .*key, which can't be read"):
        server_options.api_key(options(api_key_file=str(tmp_path / "key")))


def test_a_key_of_several_lines_is_refused():
    with pytest.raises(ServerApiError, match="api_key must hold one key"):
        server_options.api_key(options(api_key="one\ntwo"))


def test_a_missing_ca_is_named():
    module = types.SimpleNamespace(params=options(ca_path="/nowhere/ca.pem"), no_log_values=set())
    with pytest.raises(ServerApiError, match="ca_path is /nowhere/ca.pem"):
        server_options.connect(module, 10)


def test_a_key_from_a_file_is_hidden_in_all_results(tmp_path):
    (tmp_path / "key").write_text("sk-from-file")
    module = types.SimpleNamespace(params=options(api_key_file=str(tmp_path / "key")), no_log_values=set())
    assert server_options.connect(module, 10).has_key
    assert module.no_log_values == {"sk-from-file"}
