# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line, as the chosen release's own argparse takes and refuses it.

Every field of the release's template is a flag, so a flag that came or went with a release is known or
unknown here as it is there. Only what was given is returned: defaults belong to the resolution.
"""

from __future__ import annotations

import argparse

from sglang.releases import Release

ALIASES = {
    "model_path": ("--model",),
    "tp_size": ("--tensor-parallel-size",),
    "pp_size": ("--pipeline-parallel-size",),
    "dp_size": ("--data-parallel-size",),
    "ep_size": ("--expert-parallel-size", "--ep"),
    "speculative_draft_model_path": ("--speculative-draft-model",),
}
INTEGERS = (
    "context_length",
    "dist_timeout",
    "max_queued_requests",
    "max_running_requests",
    "max_total_tokens",
    "prefill_max_requests",
    "random_seed",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_num_steps",
)
OLD_MAMBA_FLAG = "--mamba-scheduler-strategy"


def parse_arguments(argv: list[str], release: Release, template: dict) -> tuple[dict, list[str]]:
    """Return the given fields and the deprecation warnings. Exits with 2 and a usage line, as argparse does."""
    warnings: list[str] = []
    parser = build_parser(release, template, warnings)
    return vars(parser.parse_args(with_config_file(argv))), warnings


def build_parser(release: Release, template: dict, warnings: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="launch_server.py", argument_default=argparse.SUPPRESS)
    for name, default in template.items():
        if name.startswith("_"):
            continue
        flags = (flag_of(name), *ALIASES.get(name, ()))
        parser.add_argument(*flags, dest=name, **how_to_take(name, default, release))
    if release.accepts_old_mamba_flag:
        parser.add_argument(
            OLD_MAMBA_FLAG,
            dest=release.mamba_field,
            choices=release.mamba_strategies,
            action=deprecated(flag_of(release.mamba_field), warnings),
        )
    return parser


def flag_of(field: str) -> str:
    return "--" + field.replace("_", "-")


def how_to_take(name: str, default: object, release: Release) -> dict:
    if name == "model_path":
        return {"required": True}
    if name == release.mamba_field:
        return {"choices": release.mamba_strategies}
    if name == "speculative_algorithm" and release.argparse_checks_algorithm:
        return {"choices": release.algorithms}
    if isinstance(default, bool):
        return {"action": "store_true"}
    if name in INTEGERS:
        return {"type": int}
    if isinstance(default, (int, float)):
        return {"type": type(default)}
    if isinstance(default, list):
        return {"nargs": "+", "type": int if default and isinstance(default[0], int) else str}
    return {}


def deprecated(new_flag: str, warnings: list[str]) -> type[argparse.Action]:
    class Deprecated(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            setattr(namespace, self.dest, values)
            warnings.append(
                f"'{option_string}' is deprecated and will be removed in a future release. Use '{new_flag}' instead."
            )

    return Deprecated


def with_config_file(argv: list[str]) -> list[str]:
    """Replace ``--config FILE`` by the flags in that file; flags on the command line come later and win."""
    if "--config" not in argv[:-1]:
        return argv
    place = argv.index("--config")
    with open(argv[place + 1], encoding="utf-8") as file:
        flags = [flag for line in file for flag in flags_of_line(line)]
    return flags + argv[:place] + argv[place + 2:]


def flags_of_line(line: str) -> list[str]:
    """One ``key: value`` of the flat YAML that server configurations are; nested YAML is not understood."""
    key, colon, value = line.strip().partition(":")
    if not colon or key.startswith("#"):
        return []
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    if value.lower() in ("true", "false"):
        return [flag_of(key)] if value.lower() == "true" else []
    return [flag_of(key), value]
