# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: what a node has to offer before its server is touched. A problem is one sentence for the operator."""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import re

from ansible_collections.llmops.sglang.plugins.module_utils import unit_file

_RELEASE_FOLDER = re.compile(r"/sglang-([0-9][^/]*)\.dist-info$")


@dataclasses.dataclass(frozen=True)
class ModelFolder:
    """A model's folder: its first architecture (``""`` unknown) and what is wrong with it."""

    architecture: str
    problems: tuple


def read_model(variable, path):
    """Look into a model's folder. ``variable`` is the role variable that a problem names; no path, no problem."""
    if not path:
        return ModelFolder("", ())
    if not os.path.exists(path):
        return ModelFolder("", ("%s is %s, which does not exist on this host." % (variable, path),))
    if not os.path.isdir(path):
        return ModelFolder("", ("%s is %s, which is no folder: give the folder with config.json." % (variable, path),))
    config = os.path.join(path, "config.json")
    try:
        with open(config, encoding="utf-8") as source:
            architectures = json.load(source).get("architectures")
    except FileNotFoundError:
        return ModelFolder("", ("%s is %s, which holds no config.json: it is no model folder." % (variable, path),))
    except (OSError, ValueError, AttributeError) as error:
        return ModelFolder("", ("%s: %s can't be read: %s." % (variable, config, error),))
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    return ModelFolder(str(first), ())


def sglang_version(python):
    """Release of the SGLang package beside an interpreter, from its package metadata; ``""`` when not found."""
    prefix = os.path.dirname(os.path.dirname(python))
    found = glob.glob(os.path.join(prefix, "lib", "python3*", "*-packages", "sglang-*.dist-info"))
    matches = [_RELEASE_FOLDER.search(folder) for folder in sorted(found)]
    releases = [match.group(1) for match in matches if match]
    return releases[-1] if releases else ""


def find_requests(run_command, interpreters):
    """The first of the interpreters that can import ``requests``; ``""`` when none can."""
    for interpreter in dict.fromkeys(interpreters):
        runs = interpreter and os.access(interpreter, os.X_OK)
        if runs and run_command([interpreter, "-c", "import requests"])[0] == 0:
            return interpreter
    return ""


def interpreter_problems(python):
    if os.access(python, os.X_OK) and os.path.isfile(python):
        return []
    return ["mtp_python is %s, which is no program on this host: give the interpreter that runs the server." % python]


def unit_problems(run_command, unit):
    """What keeps a unit from running the command line that is written to it: a mask, or a drop-in with another one."""
    if not unit:
        return []
    out = run_command(["systemctl", "show", "--property=LoadState,DropInPaths", "--", unit])[1]
    shown = dict(line.partition("=")[::2] for line in out.splitlines())
    if shown.get("LoadState") == "masked":
        return [
            "The unit %s is masked, so somebody wants it off: 'systemctl unmask %s' takes that back." % (unit, unit)
        ]
    return [
        "The drop-in %s replaces ExecStart of %s, so the unit's command line would never run: remove it." % (path, unit)
        for path in shown.get("DropInPaths", "").split()
        if _sets_exec_start(path)
    ]


def _sets_exec_start(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return unit_file.sets_exec_start(source.read())
    except OSError:
        return False


def port_problems(port):
    if 1 <= port <= 65535:
        return []
    return ["mtp_port is %d: give a port from 1 to 65535." % port]


def requests_problems(requests_python, python):
    if requests_python:
        return []
    return [
        "No Python on this host can import requests (looked at the system's and at %s): "
        "install the package python3-requests, or requests into the server's environment." % python
    ]
