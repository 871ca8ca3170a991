# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The node images: Debian packages and the server's virtual environment, rebuilt only when the recipe changes."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fleet import debian_archive
from fleet.errors import FleetError
from fleet.podman import AS_ROOT, podman, succeeds

REPOSITORY = "localhost/llmops-sglang-node"
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "openssh-server",
    "sudo",
    "python3",
    "procps",
    "iproute2",
    "curl",
    "ca-certificates",
)
VENV = "opt/sglang/venv"
RECIPE = Path(__file__).resolve().parent.parent / "image"
CUSTOMIZE = RECIPE / "customize"
REQUIREMENTS = RECIPE / "requirements.txt"
# mmdebstrap makes device files, and its unprivileged downloader has to reach the folder: /tmp and home can't serve.
BUILD_ROOM = "/var/tmp"
START = ("--change", 'CMD ["/sbin/init"]', "--change", "STOPSIGNAL SIGRTMIN+3")


@dataclasses.dataclass(frozen=True)
class Suite:
    """One Debian release: its Python, and where a node of it has ``requests``."""

    python: str
    packages: tuple[str, ...] = ()
    wheels: bool = False

    @property
    def site_packages(self) -> str:
        """The folder of the server's virtual environment that packages lie in, relative to the root."""
        return f"{VENV}/lib/{self.python}/site-packages"


SUITES = {
    "bookworm": Suite(python="python3.11", packages=("python3-requests",)),
    "trixie": Suite(python="python3.13", wheels=True),
}


def image_name(suite: str) -> str:
    """The image's name carries the digest of the recipe it was built from."""
    digest = hashlib.sha256(repr((suite, SUITES[suite], PACKAGES, START)).encode())
    for file in sorted(RECIPE.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{REPOSITORY}:{suite}-{digest.hexdigest()[:10]}"


def ensure_image(suite: str, downloads: Path) -> str:
    """Build the image of a Debian suite unless it is there; ``downloads`` keeps wheels between builds."""
    name = image_name(suite)
    with _one_builder_at_a_time():
        if not succeeds("image", "exists", name):
            print(f"Building {name} from Debian's packages (once, about a minute) ...", flush=True)
            _build(name, suite, downloads)
    return name


def images_left() -> list[str]:
    """One line per node image on this machine: name and size."""
    form = "{{.Repository}}:{{.Tag}}  {{.Size}}"
    return podman("images", "--filter", f"reference={REPOSITORY}", "--format", form).splitlines()


def _build(name: str, suite: str, downloads: Path) -> None:
    wheels = _download_wheels(suite, downloads) if SUITES[suite].wheels else []
    with tempfile.TemporaryDirectory(dir=BUILD_ROOM, prefix="llmops-sglang-image-") as room:
        os.chmod(room, 0o755)
        settings = Path(room, "apt.conf")
        settings.write_text(debian_archive.archive_settings())
        root = Path(room, "root.tar")
        command = [
            *AS_ROOT,
            "env",
            f"TMPDIR={BUILD_ROOM}",
            "mmdebstrap",
            "--mode=root",
            "--variant=minbase",
            f"--include={','.join(PACKAGES + SUITES[suite].packages)}",
            f"--aptopt={settings}",
            *(f"--customize-hook=upload {shlex.quote(str(file))} /{file.name}" for file in [CUSTOMIZE, *wheels]),
            f'--customize-hook=chroot "$1" sh /{CUSTOMIZE.name}',
            suite,
            str(root),
            f"deb [signed-by={debian_archive.KEYRING}] {debian_archive.archive_address()} {suite} main",
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FleetError(f"mmdebstrap could not build Debian {suite}:\n{_tail(done.stderr)}")
        podman("import", *START, str(root), name)


def _download_wheels(suite: str, downloads: Path) -> list[Path]:
    """Wheels in pure Python, for the node's Python rather than for the one that runs here."""
    folder = downloads / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:10]
    version = SUITES[suite].python.removeprefix("python")
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--retries=10", f"--dest={folder}"]
    command += ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]
    command += [f"--python-version={version}", f"--requirement={REQUIREMENTS}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FleetError(f"pip could not download the node's Python packages:\n{_tail(done.stderr)}")
    return sorted(folder.glob("*.whl"))


@contextlib.contextmanager
def _one_builder_at_a_time() -> Iterator[None]:
    with open(Path(tempfile.gettempdir(), f"llmops-sglang-image-{os.geteuid()}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-15:])
