# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who may ask what. Pure. The rules of SGLang 0.5.8 and newer (``utils/auth.py``)."""

from __future__ import annotations

OPEN_PREFIXES = ("/health", "/ready", "/metrics")
ADMIN_PATHS = ("/freeze_gc", "/flush_cache")


def is_allowed(path: str, authorization: str | None, api_key: str | None, admin_api_key: str | None) -> bool:
    """The admin key opens administration only; it does not replace the API key elsewhere."""
    if path.startswith(OPEN_PREFIXES):
        return True
    expected = (admin_api_key or api_key) if path in ADMIN_PATHS else api_key
    return not expected or bearer_token(authorization) == expected


def bearer_token(authorization: str | None) -> str | None:
    scheme, _space, token = (authorization or "").partition(" ")
    return token if scheme.lower() == "bearer" else None
