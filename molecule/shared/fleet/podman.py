# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs podman as root, with what this machine's kernel allows."""

from __future__ import annotations

import os
import resource
import subprocess

from fleet.errors import FleetError

AS_ROOT = [] if os.geteuid() == 0 else ["sudo"]
# Podman 5 complains about cgroup v1 on every command; that it works is all that counts here.
PODMAN = [*AS_ROOT, "env", "PODMAN_IGNORE_CGROUPSV1_WARNING=1", "podman"]


def podman(*arguments: str, stdin: bytes = b"", check: bool = True) -> str:
    """Run one podman command and return what it printed; raises FleetError with podman's own words."""
    done = subprocess.run(podman_command(*arguments), input=stdin, capture_output=True, check=False)
    if check and done.returncode:
        raise FleetError(f"podman {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace").strip()


def succeeds(*arguments: str) -> bool:
    """Whether a podman command ends well."""
    done = subprocess.run(podman_command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


def podman_command(*arguments: str) -> list[str]:
    """The words of a podman command. crun refuses hosts where cgroup v1 stands beside v2; there runc works."""
    pure_v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    return [*PODMAN, *([] if pure_v2 else ["--runtime", "runc"]), *arguments]


def limits() -> list[str]:
    """Podman's default limits lie above the hard limits of a user without CAP_SYS_RESOURCE."""
    options = []
    for name, limit, wanted in (("nofile", resource.RLIMIT_NOFILE, 1048576), ("nproc", resource.RLIMIT_NPROC, 32768)):
        hard = resource.getrlimit(limit)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        options += ["--ulimit", f"{name}={value}:{value}"]
    return options
