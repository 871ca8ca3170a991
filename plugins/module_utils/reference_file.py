# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The recorded answers of a server before a change, in a file on the node. Reads and writes; judges nothing."""

from __future__ import annotations

import dataclasses
import json
import os

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file
from ansible_collections.llmops.sglang.plugins.module_utils.agreement import Output

FORMAT = "llmops.sglang reference 1"
LARGEST_FILE = 16 * 1024 * 1024


class ReferenceFileError(Exception):
    """The file can't be read or written; the text is one sentence for the operator."""


@dataclasses.dataclass(frozen=True)
class Reference:
    """``answers`` is a dict: text of the prompt to its :class:`~agreement.Output`. ``capacity`` as in the result."""

    model: str
    version: str
    capacity: dict
    answers: dict


def read(option, path):
    """The :class:`Reference` in a file.

    :arg option: the module's option that names the file, for the message.
    :raises ReferenceFileError: when there is none, or the file is something else.
    """
    try:
        with open(path, encoding="utf-8") as source:
            content = json.loads(source.read(LARGEST_FILE))
    except OSError as error:
        raise ReferenceFileError(f"{option} is {path}, which can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReferenceFileError(
            f"{option} is {path}, which is no recording of mtp_prove: record one on the old server with its option"
            " record."
        )
    try:
        return Reference(
            model=str(content["model"]),
            version=str(content["version"]),
            capacity=dict(content["capacity"]),
            answers={answer["prompt"]: _output(answer) for answer in content["answers"]},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ReferenceFileError(f"{option} is {path}, which is a damaged recording: record it again.") from error


def write(path, reference, check_mode=False):
    """Write a :class:`Reference` so that a reader sees all of it or what was there before; only its owner may read it.

    :returns: whether the file changes, or in check mode would.
    :raises ReferenceFileError: when its folder is missing or not writable.
    """
    text = json.dumps(_content(reference), indent=1, sort_keys=True) + "\n"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or os.path.isdir(path):
        raise ReferenceFileError(f"record is {path}: give a file in a folder that exists on this host.")
    if _current(path) == text:
        return False
    if not check_mode:
        try:
            atomic_file.replace(path, text)
        except OSError as error:
            raise ReferenceFileError(f"record is {path}, which can't be written: {error.strerror}.") from error
    return True


def _current(path):
    try:
        with open(path, encoding="utf-8") as source:
            return source.read(LARGEST_FILE)
    except (OSError, ValueError):
        return None


def _content(reference):
    answers = [dict(dataclasses.asdict(output), prompt=prompt) for prompt, output in reference.answers.items()]
    return {
        "format": FORMAT,
        "model": reference.model,
        "version": reference.version,
        "capacity": reference.capacity,
        "answers": answers,
    }


def _output(answer):
    return Output(
        text=str(answer["text"]),
        token_ids=tuple(int(token) for token in answer["token_ids"]),
        tokens=int(answer["tokens"]),
        finish=str(answer["finish"]),
    )
