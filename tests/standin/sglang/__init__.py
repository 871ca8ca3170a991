# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for the SGLang server: its command line, its log and its HTTP endpoints, without a GPU."""

from __future__ import annotations

import os


def __getattr__(name: str) -> str:
    if name == "__version__":
        from sglang.releases import installed_release

        return installed_release(os.environ).text
    raise AttributeError(name)
