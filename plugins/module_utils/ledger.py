# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: the ledger on the controller, one folder per rollout, one JSON record per host and attempt.

``<rollout>/<host>.json`` is a host's latest record; ``<rollout>/earlier/<host>.<attempt>.json`` keeps those before it.
"""

from __future__ import annotations

import datetime
import json
import os
from urllib.parse import quote

from ansible_collections.llmops.sglang.plugins.module_utils import atomic_file

SCHEMA = 1


class LedgerError(Exception):
    """The ledger can't be used; the text is one sentence for the operator."""


class Ledger:
    """One rollout's folder below ``root``. Times are ISO 8601 in UTC."""

    def __init__(self, root, rollout):
        self.root = root
        self.rollout = rollout
        self.folder = os.path.join(root, _file_name(rollout))

    def create(self):
        """Make the rollout's folder, readable for its owner only."""
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise LedgerError("mtp_ledger_dir is %s, where no ledger can be kept: %s" % (self.root, error)) from error

    def read(self, host):
        """The host's latest record of this rollout, or None.

        :raises LedgerError: when the record is there and can't be read.
        """
        path = self._path(host)
        try:
            with open(path, encoding="utf-8") as source:
                return json.load(source)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise LedgerError("The ledger's record %s can't be read: %s" % (path, error)) from error

    def write(self, host, **fields):
        """Write the host's record atomically and return it; a second record of a host is its next attempt."""
        earlier = self.read(host)
        record = {
            "schema": SCHEMA,
            "rollout": self.rollout,
            "host": host,
            "attempt": earlier["attempt"] + 1 if earlier else 1,
            "finished_at": now(),
        }
        record.update(fields)
        try:
            if earlier:
                self._keep(host, earlier)
            atomic_file.replace(self._path(host), _as_text(record))
        except OSError as error:
            raise LedgerError("The record of %s can't be written to %s: %s" % (host, self.folder, error)) from error
        return record

    def _keep(self, host, record):
        folder = os.path.join(self.folder, "earlier")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = "%s.%d.json" % (_file_name(host), record["attempt"])
        atomic_file.replace(os.path.join(folder, name), _as_text(record))

    def _path(self, host):
        return os.path.join(self.folder, _file_name(host) + ".json")


def _as_text(record):
    return json.dumps(record, indent=2) + "\n"


def latest_start_seconds(root, host):
    """How long the host's last recorded start took, in seconds; None when the ledger knows of none."""
    for folder in sorted(_rollouts(root), reverse=True):
        record = Ledger(root, folder).read(host)
        if record and record.get("start_seconds"):
            return record["start_seconds"]
    return None


def _rollouts(root):
    """Names of the rollouts in a ledger; those that deployed sort by their time."""
    try:
        return [entry.name for entry in os.scandir(root) if entry.is_dir() and entry.name.startswith("deploy-")]
    except FileNotFoundError:
        return []


def now():
    """The time in UTC as ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def new_rollout(purpose):
    """A name for a rollout that sorts by time, such as ``deploy-20261129T101500.123``."""
    moment = datetime.datetime.now(datetime.timezone.utc)
    return "%s-%s.%03d" % (purpose, moment.strftime("%Y%m%dT%H%M%S"), moment.microsecond // 1000)


def _file_name(name):
    return quote(name, safe="@+=:,").lstrip(".") or "_"
