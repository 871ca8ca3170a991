# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a test sets on the stand-in through its environment; a real server knows none of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sglang.faults import Faults


class SettingsError(Exception):
    """One clear sentence about a STANDIN_ variable."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """``load_seconds`` is the time from the banner to readiness; memory is in GB per rank; with
    ``faults_need_mtp`` the faults strike only a server whose flags ask for speculation.
    """

    load_seconds: float = 1.0
    health_seconds: float = 0.1
    steps_per_second: float = 400.0
    target_memory_gb: float = 60.69
    draft_memory_gb: float = 1.91
    accept_length: float | None = None
    fault_seconds: float = 2.0
    state_file: str = ""
    processes: bool = False
    faults_need_mtp: bool = False
    faults: Faults = Faults()


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raises SettingsError for a value that cannot be meant."""
    faults = read_faults(environ.get("STANDIN_FAULT", ""))
    state_file = environ.get("STANDIN_STATE_FILE", "")
    if "start-fails-once-in" in faults and not state_file:
        raise SettingsError("STANDIN_FAULT=start-fails-once-in=N counts starts in a file: set STANDIN_STATE_FILE")
    accept_length = environ.get("STANDIN_ACCEPT_LENGTH")
    return Settings(
        load_seconds=number(environ, "STANDIN_LOAD_SECONDS", Settings.load_seconds),
        health_seconds=number(environ, "STANDIN_HEALTH_SECONDS", Settings.health_seconds),
        steps_per_second=rate(environ, "STANDIN_TOKENS_PER_SECOND", Settings.steps_per_second),
        target_memory_gb=number(environ, "STANDIN_TARGET_MEMORY_GB", Settings.target_memory_gb),
        draft_memory_gb=number(environ, "STANDIN_DRAFT_MEMORY_GB", Settings.draft_memory_gb),
        accept_length=None if accept_length is None else number(environ, "STANDIN_ACCEPT_LENGTH", 1.0),
        fault_seconds=number(environ, "STANDIN_FAULT_SECONDS", Settings.fault_seconds),
        state_file=state_file,
        processes=environ.get("STANDIN_PROCESSES", "0") == "1",
        faults_need_mtp=environ.get("STANDIN_FAULT_NEEDS_MTP", "0") == "1",
        faults=faults,
    )


def read_faults(text: str) -> Faults:
    try:
        return Faults.parse(text)
    except ValueError as error:
        raise SettingsError(f"STANDIN_FAULT={text}: {error}") from None


def rate(environ: Mapping[str, str], name: str, default: float) -> float:
    value = number(environ, name, default)
    if not value:
        raise SettingsError(f"{name}={environ[name]}: nothing would ever be generated")
    return value


def number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name}={text} is no number") from None
    if value < 0:
        raise SettingsError(f"{name}={text} is negative")
    return value
