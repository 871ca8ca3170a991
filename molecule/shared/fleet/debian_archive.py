# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Debian archive that this machine itself is configured to use, and how its apt reaches it."""

from __future__ import annotations

import re
import subprocess

from fleet.errors import FleetError
from fleet.podman import AS_ROOT

FIELDS = ("ORIGIN", "LABEL", "COMPONENT", "REPO_URI")
# How to reach the archive (proxies, certificates, retries), not what to fetch from it.
REACHING = re.compile(r"Acquire::(?!IndexTargets|Languages|GzipIndexes|cdrom|Changelogs)[A-Za-z:_-]+ ")
LOGINS = 'Dir::Etc::netrc "/etc/apt/auth.conf";\nDir::Etc::netrcparts "/etc/apt/auth.conf.d";\n'
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def pick_archive(index_targets: str) -> str | None:
    """The address of Debian's main archive in the output of ``apt-get indextargets`` (fields: FIELDS)."""
    for line in index_targets.splitlines():
        origin, label, component, address = line.split("|", 3)
        if (origin, label, component) == ("Debian", "Debian", "main"):
            return address
    return None


def pick_settings(apt_config: str) -> str:
    """The lines of ``apt-config dump`` that say how to reach an archive, as an apt configuration."""
    lines = [line for line in apt_config.splitlines() if REACHING.match(line)]
    return "\n".join([*lines, LOGINS])


def archive_address() -> str:
    """The archive of this machine; raises FleetError when its apt sources name none."""
    address = pick_archive(_index_targets())
    if address is None:
        subprocess.run([*AS_ROOT, "apt-get", "update", "-q"], stdin=subprocess.DEVNULL, check=False)
        address = pick_archive(_index_targets())
    if address is None:
        raise FleetError(
            "No Debian archive (component main) among this machine's apt sources; the node images are built from "
            "there: look at /etc/apt/sources.list and /etc/apt/sources.list.d."
        )
    return address


def archive_settings() -> str:
    """This machine's apt settings for reaching the archive."""
    return pick_settings(_output_of(["apt-config", "dump"]))


def _index_targets() -> str:
    form = "|".join(f"$({field})" for field in FIELDS)
    return _output_of(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])


def _output_of(command: list[str]) -> str:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
