# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one error of this package."""

from __future__ import annotations


class RigError(Exception):
    """Something that the person at the terminal has to know; its text is the whole message."""
