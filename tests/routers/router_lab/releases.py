# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The routers that are tested, each installed by pip into an environment of its own the first time it is needed."""

from __future__ import annotations

import dataclasses
import fcntl
import glob
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "routers"
ATTEMPTS = 3
SECONDS_BETWEEN_ATTEMPTS = 5
INSTALL_SECONDS = 180


@dataclasses.dataclass(frozen=True)
class Release:
    """``rest``: it has ``/workers``. ``queues``: a removed worker stays listed as draining for some seconds."""

    distribution: str
    version: str
    rest: bool = True
    queues: bool = False

    @property
    def name(self):
        return f"{self.distribution}-{self.version}"

    @property
    def command(self):
        folder = CACHE / self.name / "bin"
        if self.distribution == "smg":
            return [str(folder / "smg"), "launch"]
        return [str(folder / "python"), "-m", "sglang_router.launch_router"]

    @property
    def checks_health(self):
        """Whether it looks at its workers by itself, and how often can be set."""
        return self.rest


RELEASES = [
    Release("sglang-router", "0.1.9", rest=False),
    Release("sglang-router", "0.2.4"),
    Release("sglang-router", "0.3.2"),
    Release("smg", "1.13.0", queues=True),
]


def install(release):
    """Install a release unless it is there. Skips the test where no Python of this machine has a wheel of it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{release.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = CACHE / release.name
        if (folder / "installed").exists():
            return
        said = []
        for python in pythons():
            if _install_with(python, release, folder, said):
                (folder / "installed").touch()
                return
            shutil.rmtree(folder, ignore_errors=True)
    if all("No matching distribution" in words for words in said):
        pytest.skip(f"there is no wheel of {release.name} for any Python on this machine")
    pytest.fail(f"{release.name} could not be installed:\n" + "\n".join(said))


def pythons():
    """The interpreters of this machine, the one that runs this first."""
    names = [f"python3.{minor}" for minor in (12, 11, 10, 9)]
    found = [shutil.which(name) for name in names] + [f"/usr/bin/{name}" for name in names]
    found += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")))
    usable = [python for python in found if python and os.path.exists(python) and _runs(python)]
    return list(dict.fromkeys([sys.executable, *usable]))


def _runs(python):
    check = "import ensurepip, sys; sys.exit(sys.version_info < (3, 9))"
    return subprocess.run([python, "-c", check], capture_output=True, timeout=30, check=False).returncode == 0


def _install_with(python, release, folder, said):
    made = subprocess.run([python, "-m", "venv", str(folder)], capture_output=True, text=True, timeout=60, check=False)
    if made.returncode:
        said.append(f"{python}: {made.stderr.strip()}")
        return False
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    for attempt in range(ATTEMPTS):
        done = subprocess.run(
            [*pip, f"{release.distribution}=={release.version}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        if done.returncode == 0:
            return True
        if "No matching distribution" in done.stderr:
            break
        if attempt < ATTEMPTS - 1:
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)
    said.append(f"{python}: {done.stderr.strip()[-600:]}")
    return False
