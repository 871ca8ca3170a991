# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: the file that keeps a worker's settings while no router knows it. Keys are not in it."""

from __future__ import annotations

import json

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file
from ansible_collections.llmops.sglang.plugins.module_utils.router_dialects import same_server

SCHEMA = 1
LARGEST_FILE = 1024 * 1024


class RecordFileError(Exception):
    """The file can't be used; the text is one sentence for the operator."""


def read_records(path, worker_url):
    """The settings of ``worker_url`` by router url; empty when there is no such file.

    :raises RecordFileError: when it can't be read, is no such file or belongs to another worker.
    """
    try:
        with open(path, encoding="utf-8") as source:
            content = json.loads(source.read(LARGEST_FILE))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RecordFileError(f"record_file is {path}, which can't be read: {error.strerror}.") from error
    except ValueError:
        content = None
    if not _is_record_file(content):
        raise RecordFileError(
            f"record_file is {path}, which is no record of a worker (schema {SCHEMA}): name another file, or remove"
            " this one."
        )
    if not same_server(content["worker_url"], worker_url):
        raise RecordFileError(
            f"record_file is {path}, which is the record of {content['worker_url']} and not of {worker_url}:"
            " give each worker a file of its own."
        )
    return content["routers"]


def write_records(path, worker_url, records):
    """Write the file in one step, readable by its owner alone.

    :raises RecordFileError: when it can't be written.
    """
    content = {"schema": SCHEMA, "worker_url": worker_url, "routers": records}
    try:
        atomic_file.replace(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise RecordFileError(f"record_file is {path}, which can't be written: {error.strerror}.") from error


def _is_record_file(content):
    return (
        isinstance(content, dict)
        and content.get("schema") == SCHEMA
        and isinstance(content.get("worker_url"), str)
        and isinstance(content.get("routers"), dict)
        and all(isinstance(settings, dict) for settings in content["routers"].values())
    )
