# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters through which the role's YAML reaches the pure code of ``module_utils``."""

from __future__ import annotations

import os

from ansible.errors import AnsibleFilterError
from ansible_collections.llmops.sglang.plugins.module_utils import conditions, group, launch_command, outcome, unit_file
from ansible_collections.llmops.sglang.plugins.module_utils.server_url import Endpoint, moved
from ansible_collections.llmops.sglang.plugins.module_utils.start_attempts import may_start_again

OUTCOMES = {
    "deployment": outcome.deployment_outcome,
    "audit": outcome.audit_outcome,
    "rollback": outcome.rollback_outcome,
}


def exec_start(launch):
    """The server's command as the value of ``ExecStart=``."""
    return unit_file.exec_line(_checked(launch_command.server_command, launch))


def environment_lines(launch, extra=None):
    """The ``Environment=`` lines of the server's unit."""
    environment = _checked(launch_command.server_environment, launch, extra)
    return [unit_file.environment_line(name, value) for name, value in environment.items()]


def launch_expectations(launch, overrides=None):
    """The ``expect`` option of ``mtp_verify`` for a server that is started like this."""
    return _checked(launch_command.launch_expectations, launch, overrides)


def launch_mistake(launch, overrides=None, task_files=()):
    """What is wrong with what the role is asked for, as a sentence; empty when nothing is.

    :arg task_files: files with tasks on the controller; an empty name stands for none.
    """
    try:
        launch_command.check(launch)
        conditions.Expectations.from_options(launch_command.launch_expectations(launch, overrides))
    except (launch_command.LaunchError, conditions.ExpectationError) as error:
        return str(error)
    members, address, size = (launch.get(name) for name in ("members", "dist_init_addr", "group_size"))
    wrong = group.mistake(launch.get("group"), members, address, int(size or 0))
    if wrong:
        return wrong
    missing = [name for name in task_files if name and not os.path.isfile(name)]
    return "There is no file %s with tasks on the controller: give its whole path." % missing[0] if missing else ""


def rollout_outcome(steps, kind="deployment"):
    """The outcome on a host from the results of its steps."""
    return OUTCOMES[kind](steps)


def url_of_unit(url, launch, unit):
    """The URL of the server of ``unit``, a result of ``service_unit``, from that of the one ``launch`` asks for."""
    try:
        here = Endpoint.of(exec_start(launch))
    except AnsibleFilterError:
        # Going back needs nothing of the server that was asked for: a mistake in its variables must not stop it.
        return url
    return moved(url, here, Endpoint(unit["host"], unit["port"], unit["tls"]))


def _checked(function, *args):
    try:
        return function(*args)
    except launch_command.LaunchError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters by name."""

    def filters(self):
        return {
            "exec_start": exec_start,
            "environment_lines": environment_lines,
            "launch_expectations": launch_expectations,
            "launch_mistake": launch_mistake,
            "rollout_outcome": rollout_outcome,
            "node_was_changed": outcome.node_was_changed,
            "lost_host": outcome.lost_host,
            "may_start_again": may_start_again,
            "url_of_unit": url_of_unit,
        }
