# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rig of the real server and its shims, without the server."""

from __future__ import annotations

import sys
from pathlib import Path

REAL_SERVER = Path(__file__).resolve().parents[2] / "real_server"

sys.path[:0] = [str(REAL_SERVER), str(REAL_SERVER / "shims")]
