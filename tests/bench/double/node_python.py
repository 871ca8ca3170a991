# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Loaded at the start of a modelled host's Python: the host's programs come first, and what it costs is noted.

A host's Python is a virtual environment of its own; the file ``node.pth`` in it loads this.
"""

from __future__ import annotations

import os
import resource
import sys

NOTED = "MODELLED_HOST_CPU_IS_NOTED"


def begin():
    # What a noted process starts is part of its account already.
    if NOTED in os.environ:
        return
    host = os.path.dirname(sys.prefix)
    os.environ[NOTED] = "1"
    os.environ["PATH"] = "%s/bin:%s" % (host, os.environ.get("PATH", ""))
    # Seen from outside, so that the end of the interpreter is in the account.
    child = os.fork()
    if child:
        _pid, status, used = os.wait4(child, 0)
        note(host, used, resource.getrusage(resource.RUSAGE_SELF))
        os._exit(os.waitstatus_to_exitcode(status) & 255)


def note(host, *used):
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    with open(os.path.join(host, "cpu"), "a", encoding="ascii") as notes:
        notes.write("%.4f\n" % seconds)


begin()
