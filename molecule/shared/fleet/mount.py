# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder of this machine that a node sees, read-only."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from fleet.errors import FleetError


@dataclasses.dataclass(frozen=True)
class Mount:
    """``folder`` on this machine is seen as ``target`` on the node; both are absolute."""

    folder: Path
    target: str


def parse_mount(text: str) -> Mount:
    """Read ``FOLDER:TARGET``; raises FleetError that names what is wrong."""
    folder, _colon, target = text.rpartition(":")
    if not folder or not target.startswith("/"):
        raise FleetError(f"--mount '{text}' must be FOLDER:TARGET with an absolute TARGET, e.g. models:/shared/models.")
    if not Path(folder).is_dir():
        raise FleetError(f"--mount '{text}': there is no folder {folder} on this machine.")
    return Mount(Path(folder).resolve(), target)
