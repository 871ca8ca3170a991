# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs ``router_worker`` as Ansible does, in this process."""

from __future__ import annotations

import contextlib
import io
import json

from ansible.module_utils.testing import patch_module_args
from ansible_collections.llmops.sglang.plugins.modules import router_worker


def run_module(**arguments):
    """The result of the module as a dict. Nothing that it prints holds a key."""
    printed = io.StringIO()
    given = {name: value for name, value in arguments.items() if value is not None}
    with patch_module_args(given), contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        router_worker.main()
    for name in ("api_key", "worker_api_key"):
        assert not given.get(name) or given[name] not in printed.getvalue()
    return json.loads(printed.getvalue())
