# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``python -m sglang.launch_server``: from the command line to a server that answers, or to its end."""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping
from typing import NoReturn

from sglang.arguments import parse_arguments
from sglang.banner import banner, read_template
from sglang.checkpoints import CheckpointMissing, ConfigMissing, read_checkpoint
from sglang.console import Console
from sglang.failures import RankDied, end_before_banner, end_while_loading, say_kill_process_tree, traceback_of
from sglang.faults import Faults
from sglang.http_server import FollowerHandler, Handler, HttpServer, serve_in_background
from sglang.loading import Loading
from sglang.processes import start_sleepers
from sglang.releases import Release, installed_release
from sglang.resolution import Resolution
from sglang.run import Run
from sglang.server import Server
from sglang.settings import Settings, SettingsError, read_settings
from sglang.shutdown import Shutdown, ignore_signals, put_signals
from sglang.warmup import WarmUp

UVICORN_STARTUP_FAILURE = 3
DISMISSED = "dismissed"


def main(argv: list[str], environ: Mapping[str, str]) -> None:
    try:
        settings, release = read_settings(environ), installed_release(environ)
    except (SettingsError, ValueError) as error:
        sys.exit(f"SGLang stand-in: {error}")
    run = resolve(argv, environ, settings, release)
    run.console.log(banner(run.fields, release))
    sleepers = start_sleepers(run) if settings.processes else []
    try:
        run.plan = Loading(run).load()
    except RankDied as death:
        end_while_loading(run.console, release, death.traceback, run.tags[0])
    serve(run)
    for sleeper in sleepers:
        sleeper.kill()


def resolve(argv: list[str], environ: Mapping[str, str], settings: Settings, release: Release) -> Run:
    """Everything up to the banner. Exits as a real server does when the arguments cannot be resolved."""
    template = read_template(release)
    if release.recommends_sglang_serve:
        recommend_sglang_serve()
    given, deprecations = parse_arguments(argv, release, template)
    for text in deprecations:
        print(f"\033[1;33m{text}\033[0m", file=sys.stderr, flush=True)
    if settings.faults_need_mtp and "speculative_algorithm" not in given:
        settings = dataclasses.replace(settings, faults=Faults())
    if "flags-ignored" in settings.faults:
        given = {name: value for name, value in given.items() if not name.startswith("speculative_")}
    console = Console(given.get("log_level", "info"), environ.get("SGLANG_LOG_MS") == "1")
    resolution = resolve_fields(given, template, release, environ, settings, console)
    settings.faults.flip(resolution.fields, release.mamba_field)
    return Run(
        release=release,
        fields=resolution.fields,
        settings=settings,
        environ=environ,
        argv=argv,
        console=console,
        target=resolution.target,
        draft_wanted=resolution.needs_draft_model,
    )


def resolve_fields(
    given: dict, template: dict, release: Release, environ: Mapping[str, str], settings: Settings, console: Console
) -> Resolution:
    def say(level: str, text: str) -> None:
        if release.stamps_early_warnings:
            console.log(text, level)
        elif level != "info":
            console.raw(text)

    try:
        if "draft-missing" in settings.faults and "speculative_draft_model_path" in given:
            raise CheckpointMissing(given["speculative_draft_model_path"])
        return Resolution(given, template, release, environ, read_checkpoint, say)
    except ConfigMissing as missing:
        end_before_banner(console, release, traceback_of("config-missing", path=missing.path))
    except CheckpointMissing as missing:
        which = "model-folder-missing" if missing.path == given["model_path"] else "draft-folder-missing"
        end_before_banner(console, release, traceback_of(which, path=str(missing.path)))
    except (ValueError, AssertionError) as error:
        words = f"{type(error).__name__}: {error}".rstrip(": ")
        end_before_banner(console, release, traceback_of("arguments-refused", error=words))


def recommend_sglang_serve() -> None:
    print(
        f"{os.path.abspath(__file__)}:57: UserWarning: 'python -m sglang.launch_server' is still supported, "
        "but 'sglang serve' is the recommended entrypoint.\n"
        "  Example: sglang serve --model-path <model> [options]\n"
        "  warnings.warn(",
        file=sys.stderr,
        flush=True,
    )


def serve(run: Run) -> None:
    """Returns when the server was asked to stop and has finished what it was doing."""
    server = Server(run)
    if run.is_follower:
        follow(server)
        return
    shutdown = Shutdown(server)
    warm_up = threading.Thread(target=WarmUp(server).run_to_end, daemon=True)
    say_uvicorn_starts(run)
    try:
        listener = HttpServer(server, Handler)
    except OSError as error:
        end_without_port(run, warm_up, error)
    run.console.uvicorn(
        f"Uvicorn running on {run.scheme}://{run.fields['host']}:{run.fields['port']} (Press CTRL+C to quit)"
    )
    serve_in_background(listener)
    warm_up.start()
    shutdown.wait()
    shutdown.drain()
    run.group.dismiss()
    shutdown.leave()


def say_uvicorn_starts(run: Run) -> None:
    run.console.uvicorn(f"Started server process [{os.getpid()}]")
    run.console.uvicorn("Waiting for application startup.")
    run.console.uvicorn("Application startup complete.")


def end_without_port(run: Run, warm_up: threading.Thread, error: OSError) -> NoReturn:
    """The warm-up does not know yet: it may find another server on the port, or wait two minutes in vain."""
    run.console.uvicorn(
        f"[Errno {error.errno}] error while attempting to bind on address ({run.fields['host']!r}, "
        f"{run.fields['port']}): {os.strerror(error.errno).lower()}",
        "error",
    )
    run.console.uvicorn("Waiting for application shutdown.")
    run.console.uvicorn("Application shutdown complete.")
    warm_up.start()
    warm_up.join()
    sys.exit(UVICORN_STARTUP_FAILURE)


def follow(server: Server) -> None:
    """Any node but the first: its ranks work for node 0, and only a dummy answers here, until node 0 stops."""
    run = server.run
    listener = HttpServer(server, FollowerHandler)
    outlived = [signal.SIGTERM] if run.release.followers_wait_for_node_0 else []
    news: queue.SimpleQueue = queue.SimpleQueue()
    put_signals(outlived, news)
    run.console.log(
        f"Dummy health check server started in background thread at {run.fields['host']}:{run.fields['port']}"
    )
    serve_in_background(listener)
    run.group.when_dismissed(lambda: news.put(DISMISSED))
    while news.get() != DISMISSED:
        say_node_0_decides(run)
    ignore_signals(outlived)
    run.console.log(f"Scheduler or DataParallelController {os.getpid()} terminated with 0", "error")
    if run.release.says_kill_process_tree:
        say_kill_process_tree(run.console, including_parent=False)


def say_node_0_decides(run: Run) -> None:
    run.console.log(
        f"SIGTERM received on node_rank {run.fields['node_rank']}; waiting for the rank-0 ShutdownReq broadcast to "
        "stop the schedulers.",
        "warning",
    )


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
