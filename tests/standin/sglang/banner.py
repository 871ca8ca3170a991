# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ``server_args`` line: read from a template, written in the form of the release."""

from __future__ import annotations

import json

from sglang.releases import Release

WATERMARK_FIELDS = ("watermark_config", "watermark_key", "watermark_key_b")


def read_template(release: Release) -> dict:
    with open(release.template, encoding="utf-8") as file:
        return json.load(file)


def banner(fields: dict, release: Release) -> str:
    """One line with every field, API keys in clear: so does every release up to 0.5.23."""
    if release.redacts_watermarks:
        fields = {**fields, **{name: "<redacted>" for name in WATERMARK_FIELDS if name in fields}}
    if release.banner_is_dict:
        return f"server_args={fields!r}"
    return "server_args=" + dataclass_repr({"__class__": "ServerArgs", **fields})


def dataclass_repr(value: object) -> str:
    if not isinstance(value, dict) or "__class__" not in value:
        return repr(value)
    words = ", ".join(f"{name}={dataclass_repr(word)}" for name, word in value.items() if name != "__class__")
    return f"{value['__class__']}({words})"


def plain(value: object) -> object:
    """``value`` without the class names a template keeps, as JSON answers show it."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name != "__class__"}
    return value
