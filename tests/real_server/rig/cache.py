# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders that are made once: a folder's name carries the digest of the recipe that it was made from."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

RIG = Path(__file__).resolve().parent
CHECKOUT = RIG.parents[2]
CACHE = CHECKOUT / ".cache" / "real-server"


class CachedFolder:
    """``recipe`` are the files that decide what is in the folder, ``make`` fills an empty one."""

    def __init__(self, name: str, recipe: list[Path], make: Callable[[Path], None]):
        self.name = name
        self.recipe = recipe
        self.make = make

    @property
    def path(self) -> Path:
        digest = hashlib.sha256()
        for file in sorted(self.recipe):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return CACHE / f"{self.name}-{digest.hexdigest()[:8]}"

    def ensure(self) -> Path:
        """Make the folder unless it is there. A folder that is there is complete."""
        if not self.path.is_dir():
            unfinished = CACHE / f"{self.name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            self.make(unfinished)
            for outdated in CACHE.glob(f"{self.name}-*"):
                shutil.rmtree(outdated)
            unfinished.rename(self.path)
        return self.path
