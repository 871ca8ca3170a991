# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a real server dies: the lines it prints and the way its process ends.

Before the banner it is a traceback and exit code 1. Later a rank dies, logs its traceback and takes the
main process with it, which kills itself (SIGKILL) and everything it started.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from typing import NoReturn

from sglang.console import Console
from sglang.releases import Release

TRACEBACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "tracebacks")


class RankDied(Exception):
    """A scheduler hit an exception while the server was loading."""

    def __init__(self, traceback: str):
        super().__init__(traceback)
        self.traceback = traceback


def traceback_of(name: str, **words: str) -> str:
    """A recorded traceback with its ``{word}`` places filled, without the newline at its end."""
    with open(os.path.join(TRACEBACKS, f"{name}.txt"), encoding="utf-8") as file:
        text = file.read().rstrip("\n")
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text


def draft_folder_missing(path: str | None) -> RankDied:
    words = f"OSError: {path} is not a local folder and is not a valid model identifier"
    if path is not None:
        words = (
            f"OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{path}'. "
            "Use `repo_type` argument if needed."
        )
    return RankDied(traceback_of("draft-refused-by-scheduler", error=words))


def unknown_draft_class(architecture: str) -> RankDied:
    words = (
        f"ValueError: Cannot find model module. '{architecture}' is not a registered model in the Transformers "
        "library and 'AutoModel' is not present in the model config's 'auto_map'."
    )
    return RankDied(traceback_of("draft-refused-by-scheduler", error=words))


def nodes_missing(error: str) -> RankDied:
    """``error``: what torch's store says of those that did not come."""
    return RankDied(traceback_of("nodes-missing", error=f"torch.distributed.{error}"))


def no_room_for_cache(release: Release, fraction: float, minimum: float) -> RankDied:
    words = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    if release.loads_draft_before_pools:
        words = (
            f"ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={fraction}. "
            f"Raise --mem-fraction-static above {math.ceil(minimum * 1000) / 1000:.3f} (minimum viable = "
            f"1 - available/pre = {minimum:.4f}). If using speculative decoding, draft weights are now counted."
        )
    elif release.names_memory_fraction_in_error:
        words += f" Current value: mem_fraction_static={fraction}"
    return RankDied(traceback_of("no-room-for-cache", error=words))


def end_before_banner(console: Console, release: Release, traceback: str) -> NoReturn:
    if release.says_kill_process_tree:
        say_kill_process_tree(console, including_parent=False)
    console.raw(traceback)
    sys.exit(1)


def end_while_loading(console: Console, release: Release, traceback: str, tag: str) -> NoReturn:
    log_scheduler_exception(console, traceback, tag)
    console.log("Received sigquit from a child process. It usually means the child failed.", "error")
    kill_everything(console, release)


def end_while_serving(console: Console, release: Release, traceback: str, tag: str) -> NoReturn:
    """A real server sleeps five seconds here; nobody learns anything from waiting for the stand-in."""
    log_scheduler_exception(console, traceback, tag)
    console.log("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", "error")
    if release.says_kill_process_tree:
        console.log("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
    kill_everything(console, release)


def log_scheduler_exception(console: Console, traceback: str, tag: str) -> None:
    console.log(f"Scheduler hit an exception: {traceback}\n", "error", tag)


def kill_everything(console: Console, release: Release) -> NoReturn:
    if release.says_kill_process_tree:
        say_kill_process_tree(console, including_parent=True)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit("unreachable: SIGKILL has no handler")


def say_kill_process_tree(console: Console, including_parent: bool) -> None:
    pid = os.getpid()
    console.log(f"kill_process_tree called: parent_pid={pid}, include_parent={including_parent}, pid={pid}")
