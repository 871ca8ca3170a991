# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options by which a module reaches a server. Their documentation is the fragment ``llmops.sglang.server``."""

from __future__ import annotations

import os

from ansible_collections.llmops.sglang.plugins.module_utils.server_api import ServerApi, ServerApiError

ARGUMENTS = {
    "url": {"type": "str", "default": "http://127.0.0.1:30000"},
    "api_key": {"type": "str", "no_log": True},
    "api_key_file": {"type": "path", "no_log": False},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
}
MUTUALLY_EXCLUSIVE = [("api_key", "api_key_file")]
LONGEST_KEY_FILE = 64 * 1024


def connect(module, timeout):
    """The :class:`ServerApi` that the module's options ask for. A key from a file is hidden in all that it returns.

    :raises ServerApiError: one sentence that names the option.
    """
    options = module.params
    key = api_key(options)
    if key:
        module.no_log_values.add(key)
    return ServerApi(options["url"], key, timeout, ca_path(options), options["validate_certs"])


def ca_path(options):
    """The file of ``ca_path``, ``None`` when none is given.

    :raises ServerApiError: when it is no file.
    """
    path = options["ca_path"]
    if path and not os.path.isfile(path):
        raise ServerApiError(
            f"ca_path is {path}, which is no file on this host: give the file with the certificate of the CA."
        )
    return path


def api_key(options, name="api_key"):
    """The key from the option ``name``, or from the one line of ``<name>_file``; ``None`` when neither is given.

    :raises ServerApiError: for a file that can't be read and for a key that no server could have.
    """
    path = options[f"{name}_file"]
    key = _read_key(path, name) if path else options[name]
    if key is not None and (not key or not key.isprintable()):
        source = f"{name}_file {path}" if path else name
        raise ServerApiError(f"{source} must hold one key and nothing else: it is empty, or has more than one line.")
    return key


def _read_key(path, name):
    try:
        with open(path, encoding="utf-8") as source:
            return source.read(LONGEST_KEY_FILE).strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ServerApiError(f"{name}_file is {path}, which can't be read: {why}.") from error
