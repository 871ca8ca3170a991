# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import (
    REMOVED,
    Redactor,
    is_secret_name,
    redact_structure,
    secret_values,
)
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "admin_api_key", "ssl_keyfile_password", "ssl_keyfile", "watermark_key_b", "HF_TOKEN", "hfToken",
        "--api-key", "x-api-key", "clientSecret", "secrets_manager", "PASSWORD", "passphrase", "aws_credentials",
        "Authorization", "apikey",
    ],
)  # fmt: skip
def test_names_that_promise_a_secret(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["tokenizer_path", "max_total_tokens", "num_reserved_decode_tokens", "mamba_backend", "keyword", "turkeys"]
)
def test_names_that_only_sound_like_it(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(api_key='S3cret', tp_size=4)",
        "server_args={'admin_api_key': 'S3cret', 'tp_size': 4}",
        '{"api_key": "S3cret"}',
        r'"{\"api_key\": \"S3cret\", \"tp_size\": 4}"',
        "python -m sglang.launch_server --api-key S3cret --port 1",
        "python -m sglang.launch_server --api-key=S3cret --port 1",
        "cmdline()=['python', '--api-key', 'S3cret', '--port', '1']",
        "GET /v1/models?api_key=S3cret&x=1 HTTP/1.1",
        "https://user:S3cret@host/path",
        "https://S3cret@host/path",
        "Authorization: Bearer S3cret",
        "headers={'authorization': 'Bearer S3cret'}",
        "HF_TOKEN=S3cret python",
        "Environment=HF_TOKEN=S3cret",
        "ssl_keyfile_password=S3cret",
        "x-api-key: S3cret",
        "api_keys=['S3cret', 'S3cret']",
        "auth_tokens=('S3cret',)",
        "password: S3cret",
        "my_key=b'S3cret'",
        "api_key='S3cret",
    ],
)
def test_a_secret_is_removed_where_it_stands_as_a_value(text):
    redacted = Redactor().redact(text)
    assert "S3cret" not in redacted
    assert REMOVED in redacted


@pytest.mark.parametrize(
    "token", ["hf_AbCdEfGh1234", "sk-abc123", "ghp_0123456789abcdef01", "nvapi-0123456789abcdef01"]
)
def test_known_tokens_are_removed_anywhere(token):
    assert token not in Redactor().redact("downloading with %s now" % token)


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 1, #token: 31, token usage: 0.00, accept len: 2.71, gen throughput (token/s): 78",
        "api_key=None, tokenizer_path='/models/x', max_total_tokens=20000",
        "Load weight end. elapsed=1.25 s, type=Qwen3_5ForCausalLMMTP, avail mem=60.00 GB, mem usage=1.91 GB.",
        "KeyError: 'model.layers.0.weight'",
        "/opt/sglang/lib/sglang/srt/utils/hf_transformers/config.py",
        "Parameter model.mtp.key_proj.weight not found in params_dict, skip loading",
    ],
)
def test_lines_without_a_secret_stay_as_they_are(text):
    assert Redactor().redact(text) == text


def test_what_follows_a_secret_stays():
    assert Redactor().redact("api_key='a', tp_size=4") == "api_key='********', tp_size=4"
    assert Redactor().redact("--api-key a --port 1") == "--api-key ******** --port 1"


def test_a_short_secret_does_not_wreck_other_words():
    redactor = Redactor()
    for secret in ("a", "key", "test"):
        redactor.learn(secret)
    assert redactor.redact("a keyed attestation, api_key='key'") == "a keyed attestation, api_key='********'"
    assert redactor.redact("it is test indeed") == "it is ******** indeed"


SECRETS = st.text(st.characters(codec="utf-8"), min_size=8, max_size=40).filter(
    lambda text: text.strip() == text and "*" not in text
)


@settings(deadline=None)
@given(SECRETS)
def test_a_learned_secret_is_removed_however_it_is_written(secret):
    redactor = Redactor()
    redactor.learn(secret)
    for written in (secret, repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False), quote(secret)):
        text = "before %s after" % written
        redacted = redactor.redact(text)
        assert secret not in redacted
        assert written.strip("'\"") not in redacted
        assert redacted.startswith("before ") and redacted.endswith(" after")


@settings(deadline=None)
@given(SECRETS)
def test_a_secret_behind_its_name_is_found_and_can_be_learned(secret):
    redactor = Redactor()
    for value in secret_values("server_args={'api_key': %r}" % secret):
        redactor.learn(value)
    assert secret not in redactor.redact("somewhere else: %s" % secret)


def test_structures_lose_their_secrets_and_keep_their_shape():
    redactor = Redactor()
    answer = {
        "api_key": "S3cret-value",
        "tp_size": 4,
        "max_total_tokens": 100,
        "nested": [{"launch_command": "sglang --api-key S3cret-value", "ssl_keyfile_password": None}],
    }
    redactor.learn_structure(answer)
    kept = redact_structure(answer, redactor)
    assert kept["tp_size"] == 4
    assert kept["max_total_tokens"] == 100
    assert kept["nested"][0]["ssl_keyfile_password"] is None
    assert "S3cret" not in json.dumps(kept)
    assert redactor.redact("bare S3cret-value") == "bare ********"


def test_a_structure_of_any_depth_is_handled():
    deep = "S3cret"
    for _level in range(500):
        deep = [deep]
    assert "S3cret" not in str(redact_structure({"api_key": deep}, Redactor()))
    assert "S3cret" not in str(redact_structure(deep, Redactor()))
