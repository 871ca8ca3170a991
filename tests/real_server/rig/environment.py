# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The environments that the server runs in: virtual environments for the node's Python, filled by this pip."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from rig.cache import CACHE, RIG, CachedFolder
from rig.errors import RigError

REQUIREMENTS = RIG.parent / "requirements"
WHEELS = CACHE / "wheels"
# The Python of Debian 12, which the node runs. This machine needs none of that version.
PYTHON = "python3.11"
# Of the C library on Debian 12.
NEWEST_GLIBC = 36
TRIES = 3

FAILED = "pip could not get {requirement} in {tries} tries; its words are above."
NO_CPU_TORCH = """
Give pip an index that has the CPU builds of PyTorch, and try again:
    PIP_EXTRA_INDEX_URL=<the index that PyTorch's own pages on installing name for CPU> make real-server"""


@dataclasses.dataclass(frozen=True)
class Environment:
    """The environment of one release of SGLang; ``place`` is where the node sees it."""

    release: str
    place: str
    folder: CachedFolder


def environment(release: str, place: str, base: str = "") -> Environment:
    """The environment of a release; ``base`` is the place of another one, in which it finds what it lacks."""
    requirements = REQUIREMENTS / f"{release}.txt"
    folder = CachedFolder(f"sglang-{release}", [requirements, Path(__file__)], partial(_build, requirements, base))
    return Environment(release, place, folder)


def _build(requirements_file: Path, base: str, folder: Path) -> None:
    """Fill an empty folder; raises RigError when pip can't."""
    requirements = _read(requirements_file)
    for number, requirement in enumerate(requirements, 1):
        print(f"[{number}/{len(requirements)}] {requirement}", flush=True)
        _download(requirement)
    print("Installing them ...", flush=True)
    _make_virtual_environment(folder)
    site_packages = folder / "lib" / PYTHON / "site-packages"
    source, target = f"--find-links={WHEELS}", f"--target={site_packages}"
    if not _pip("install", "--no-index", source, target, "--no-compile", *requirements):
        raise RigError(f"pip could not install the wheels in {WHEELS}; its words are above.")
    if base:
        (site_packages / "base.pth").write_text(f"{base}/lib/{PYTHON}/site-packages\n", encoding="utf-8")
    shutil.rmtree(WHEELS)


def _read(requirements: Path) -> list[str]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _download(requirement: str) -> None:
    """Get one wheel. It stays until the environment is built: another try goes on where this one ended."""
    for _try in range(TRIES):
        if _pip("download", f"--dest={WHEELS}", "--retries=10", requirement):
            return
    hint = NO_CPU_TORCH if requirement.startswith("torch==") else ""
    raise RigError(FAILED.format(requirement=requirement, tries=TRIES) + hint)


def _make_virtual_environment(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(f"/usr/bin/{PYTHON}")
    (folder / "bin" / "python3").symlink_to("python")
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n", encoding="utf-8")


def _pip(command: str, *options: str) -> bool:
    """Whether pip did it, for the node's Python rather than for the one that runs here."""
    words = [sys.executable, "-m", "pip", command, "-qq", "--disable-pip-version-check"]
    words += ["--no-deps", "--only-binary=:all:", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
    words += [f"--python-version={PYTHON.removeprefix('python')}", *_platforms(), *options]
    return subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode == 0


def _platforms() -> list[str]:
    newer = [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in range(NEWEST_GLIBC, 4, -1)]
    older = [f"--platform=manylinux{year}_x86_64" for year in (2014, 2010, 1)]
    return [*newer, *older, "--platform=any"]


NEWEST = environment("0.5.23", "/opt/sglang/venv")
OLDER = environment("0.5.18", "/opt/sglang/venv-0.5.18", base=NEWEST.place)
