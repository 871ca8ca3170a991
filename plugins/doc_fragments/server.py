# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options in ``plugins/module_utils/server_options.py``."""

from __future__ import annotations


class ModuleDocFragment:
    """How a module reaches a server."""

    DOCUMENTATION = r"""
options:
  url:
    description:
      - Address of the server as this host reaches it, such as V(http://127.0.0.1:30000).
      - The server is asked directly. Proxies and C(.netrc) of the environment are not used, redirects are not followed.
    type: str
    default: http://127.0.0.1:30000
  api_key:
    description:
      - The key that the server was started with (C(--api-key)). Its C(--admin-api-key) opens none of the endpoints used
        here.
      - A server without a key needs none. C(/health), C(/health_generate) and C(/ready) never need one.
    type: str
  api_key_file:
    description: File on this host whose only line is the key. Use it instead of O(api_key).
    type: path
  ca_path:
    description: File on this host with the certificate of a private CA that has signed the server's certificate.
    type: path
  validate_certs:
    description: Whether an C(https) server must show a certificate that is valid for O(url).
    type: bool
    default: true
requirements:
  - The Python library requests, in the interpreter that runs the module. The server's own virtual environment has it.
"""
