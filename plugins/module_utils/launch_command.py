# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what a role asks for, as the server's command line; and what that command line promises.

Both directions stand in one file, so that what is asked and what is asserted can't part: the expectations are
read from the finished command line, further flags included, with the last one of a kind winning as in argparse.
"""

from __future__ import annotations

import shlex

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.llmops.sglang.plugins.module_utils import dialects

# Both spellings that argparse accepts for the flags that expectations rest on (sglang/srt/server_args.py).
FLAG_NAMES = {
    "--tensor-parallel-size": "--tp-size",
    "--tp": "--tp-size",
    "--pipeline-parallel-size": "--pp-size",
    "--pp": "--pp-size",
    "--data-parallel-size": "--dp-size",
    "--dp": "--dp-size",
    "--mamba-scheduler-strategy": "--mamba-strategy",
    "--mamba-radix-cache-strategy": "--mamba-strategy",
    "--speculative-algo": "--speculative-algorithm",
    "--speculative-draft-model": "--speculative-draft-model-path",
}


class LaunchError(ValueError):
    """A variable can't become part of a command line; the text names it and the way out."""


def server_command(launch):
    """The server's command line, as a list of words.

    :arg launch: what the role asks for: ``python``, ``model_path``, ``host``, ``port``, ``tensor_parallel_size``,
        ``mem_fraction_static``, ``sglang_version`` (``""`` when unknown), ``server_args`` and, with ``enabled``,
        ``speculative_algorithm``, ``draft_model_path``, ``num_steps``, ``eagle_topk``, ``num_draft_tokens``,
        ``mamba_strategy``. A host of a group also has ``members`` (host to rank), ``node_rank`` and
        ``dist_init_addr``. A value of None or ``""`` leaves its flag out.
    """
    flags = [
        ("--model-path", launch["model_path"]),
        ("--host", launch.get("host")),
        ("--port", launch.get("port")),
        ("--tp-size", launch.get("tensor_parallel_size")),
        ("--mem-fraction-static", launch.get("mem_fraction_static")),
    ]
    if launch.get("members"):
        flags += _group_flags(launch)
    if _enabled(launch):
        flags += _speculation_flags(launch)
    words = [launch["python"], "-m", "sglang.launch_server"]
    for name, value in flags:
        if name and value not in (None, ""):
            words += [name, str(value)]
    return words + further_words(launch.get("server_args"))


def check(launch):
    """Refuse what contradicts itself.

    :raises LaunchError: when a further flag moves the server away from where the role looks for it.
    """
    flags = parse_flags(server_command(launch))
    port = flags.get("--port", "")
    if launch.get("port") and port != str(launch["port"]):
        raise LaunchError(
            "mtp_server_args asks for --port %s and mtp_port is %s: set mtp_port alone" % (port, launch["port"])
        )


def server_environment(launch, extra=None):
    """Environment variables that the unit sets for this server: name to value."""
    environment = {
        "PATH": ":".join([_folder(launch["python"])] + list(launch.get("path") or [])),
        "PYTHONUNBUFFERED": "1",
        # setproctitle would overwrite /proc/PID/environ, which shows what an instance was started with.
        "SPT_NOENV": "1",
    }
    if launch.get("cuda_home"):
        environment["CUDA_HOME"] = launch["cuda_home"]
    if _enabled(launch):
        environment.update(dialects.spec_v2_environment(launch.get("sglang_version") or ""))
    environment.update((extra or {}).items())
    return {name: str(value) for name, value in environment.items()}


def launch_expectations(launch, overrides=None):
    """What a server started with this command line has to show: the ``expect`` option of ``mtp_verify``.

    :arg overrides: replaces single keys; a value of None leaves that key unasserted.
    """
    flags = parse_flags(server_command(launch))
    expect = {
        "speculative_algorithm": dialects.resolved_algorithm(flags.get("--speculative-algorithm")),
        "mamba_strategy": flags.get("--mamba-strategy"),
        "disable_overlap_schedule": "--disable-overlap-schedule" in flags,
        "draft_model_class": launch.get("draft_model_class"),
        "draft_ranks": local_ranks(flags),
        "draft_memory_gb": launch.get("draft_memory_gb"),
        "mem_fraction_static": _fraction(flags.get("--mem-fraction-static")),
    }
    expect.update(overrides or {})
    return {key: value for key, value in expect.items() if value is not None}


def local_ranks(flags):
    """How many ranks this node starts: tensor times pipeline times data parallelism over the nodes of the group.

    With ``--enable-dp-attention`` the data-parallel groups share the tensor-parallel ranks.
    """
    sizes = [_size(flags, name) for name in ("--tp-size", "--pp-size")]
    if "--enable-dp-attention" not in flags:
        sizes.append(_size(flags, "--dp-size"))
    ranks = 1
    for size in sizes:
        ranks *= size
    return max(1, ranks // _size(flags, "--nnodes"))


def parse_flags(words):
    """Command line words to ``{canonical flag: last value}``; a switch without a value maps to ``""``."""
    flags = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            name = FLAG_NAMES.get(name, name)
            flags[name] = value
            if equals:
                name = None
        elif name:
            flags[name] = word
            name = None
    return flags


def further_words(server_args):
    """``mtp_server_args`` to command line words.

    A list holds words, or a flag and its value in one item (``--context-length 8192``); a string is split as a
    shell would; a dictionary maps flags to values (true: a switch, false and null: left out, a list: several values).

    :raises LaunchError: for any other type.
    """
    if not server_args:
        return []
    if isinstance(server_args, str):
        return _split(server_args)
    if isinstance(server_args, dict):
        return [word for name, value in server_args.items() for word in _flag_words(str(name), value)]
    if isinstance(server_args, (list, tuple)):
        return [word for item in server_args for word in _item_words(item)]
    raise LaunchError("mtp_server_args is %r: give a list of words, a string or a dictionary of flags" % (server_args,))


def _enabled(launch):
    return boolean(launch["enabled"])


def _group_flags(launch):
    return [
        ("--nnodes", len(launch["members"])),
        ("--node-rank", launch.get("node_rank")),
        ("--dist-init-addr", launch.get("dist_init_addr")),
    ]


def _speculation_flags(launch):
    return [
        ("--speculative-algorithm", launch.get("speculative_algorithm")),
        ("--speculative-draft-model-path", launch.get("draft_model_path")),
        ("--speculative-num-steps", launch.get("num_steps")),
        ("--speculative-eagle-topk", launch.get("eagle_topk")),
        ("--speculative-num-draft-tokens", launch.get("num_draft_tokens")),
        (dialects.mamba_strategy_flag(launch.get("sglang_version") or ""), launch.get("mamba_strategy")),
    ]


def _split(text):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise LaunchError("mtp_server_args can't be split into words (%s): %s" % (error, text)) from error


def _item_words(item):
    if isinstance(item, dict):
        return [word for name, value in item.items() for word in _flag_words(str(name), value)]
    text = str(item)
    flag, _space, value = text.partition(" ")
    if flag.startswith("--") and "=" not in flag and value:
        return [flag, value.strip()]
    return [text]


def _flag_words(name, value):
    flag = name if name.startswith("-") else "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    if value is None or value is False:
        return []
    values = value if isinstance(value, (list, tuple)) else [value]
    return [flag] + [str(one) for one in values]


def _size(flags, name):
    value = flags.get(name, "")
    return max(1, int(value)) if value.isdigit() else 1


def _fraction(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _folder(path):
    return path.rpartition("/")[0]
