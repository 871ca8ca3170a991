# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils.dependents import parse_dependents, running_dependents

SHOW = "RequiredBy=a.service\nBoundBy=\nRequisiteOf=b.service\nConsistsOf=a.service c.service\n"


def systemd(show, states=""):
    return lambda command: (0, show, "") if command[1] == "show" else (3, states, "")


def test_every_unit_is_named_once():
    assert parse_dependents(SHOW) == ["a.service", "b.service", "c.service"]


def test_only_those_that_run_are_stopped_by_a_stop():
    run_command = systemd(SHOW, "active\ninactive\nactivating\n")
    assert running_dependents(run_command, "sglang.service") == ["a.service", "c.service"]


def test_a_unit_on_which_nothing_depends_is_not_asked_for_more():
    run_command = systemd("RequiredBy=\nBoundBy=\nConsistsOf=\n", "active\n")
    assert running_dependents(run_command, "sglang.service") == []
