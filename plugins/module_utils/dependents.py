# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: the units that systemd stops together with a unit, and does not start together with it again."""

from __future__ import annotations

# What Requires=, BindsTo=, Requisite= and PartOf= of the other units are called from this side.
PROPERTIES = ("RequiredBy", "BoundBy", "RequisiteOf", "ConsistsOf")
RUNNING = ("active", "activating", "reloading")


def running_dependents(run_command, unit):
    """The names of those that run now, such as an exporter with ``PartOf=sglang.service``.

    :arg run_command: like ``AnsibleModule.run_command``.
    """
    out = run_command(["systemctl", "show", "--property=" + ",".join(PROPERTIES), "--", unit])[1]
    names = parse_dependents(out)
    if not names:
        return []
    states = run_command(["systemctl", "is-active", "--", *names])[1].split()
    return [name for name, state in zip(names, states) if state in RUNNING]


def parse_dependents(text):
    """The unit names in ``systemctl show`` output (lines ``Property=name name``), each once."""
    values = [line.partition("=")[2] for line in text.splitlines()]
    return list(dict.fromkeys(name for value in values for name in value.split()))
