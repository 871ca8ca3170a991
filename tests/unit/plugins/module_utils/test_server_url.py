# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.server_url import Endpoint, moved

HERE = Endpoint("0.0.0.0", 30000, False)


@pytest.mark.parametrize(
    ("command", "endpoint"),
    [
        ("python -m server \\\n --host 0.0.0.0 \\\n --port 30000", HERE),
        ("python -m server --ssl-certfile /a.pem --port=1", Endpoint("", 1, True)),
        ("python -m server --ssl-ca-certs /a.pem", Endpoint("", 0, False)),
    ],
)
def test_a_command_line_says_where_its_server_listens(command, endpoint):
    assert Endpoint.of(command) == endpoint


@pytest.mark.parametrize(
    ("url", "there", "result"),
    [
        ("http://127.0.0.1:30000", HERE, "http://127.0.0.1:30000"),
        ("http://127.0.0.1:30000", Endpoint("0.0.0.0", 31000, False), "http://127.0.0.1:31000"),
        ("http://127.0.0.1:30000", Endpoint("", 0, False), "http://127.0.0.1:30000"),
        ("http://127.0.0.1:30000", Endpoint("10.0.0.5", 30000, False), "http://10.0.0.5:30000"),
        ("http://127.0.0.1:30000", Endpoint("fd00::5", 30000, False), "http://[fd00::5]:30000"),
        ("http://127.0.0.1:30000", Endpoint("0.0.0.0", 30000, True), "https://127.0.0.1:30000"),
        ("https://gpu01.example.com", Endpoint("10.0.0.5", 30000, False), "https://gpu01.example.com"),
        ("http://[::1]:80/x", Endpoint("0.0.0.0", 2, False), "http://[::1]:2/x"),
        ("no url", Endpoint("10.0.0.5", 1, True), "no url"),
    ],
)
def test_only_what_differs_is_replaced(url, there, result):
    assert moved(url, HERE, there) == result


def test_a_server_without_tls_is_not_asked_over_tls():
    assert moved("https://10.0.0.5:1", Endpoint("10.0.0.5", 1, True), HERE) == "http://127.0.0.1:30000"
