# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: the journal of one service instance, chosen by its InvocationID and never by time."""

from __future__ import annotations

import os
import selectors
import subprocess
import time

from ansible_collections.llmops.sglang.plugins.module_utils import journal_entries

CHUNK = 1 << 16
COMPLAINT_LIMIT = 4096


class JournalError(Exception):
    """The journal could not be read; the text is one sentence for the operator."""


class Journal:
    """The journal of one instance.

    :arg invocation_id: 32 hexadecimal digits.
    :arg directory: where the journal files are, instead of this machine's own place.
    :arg namespace: the journal namespace that the unit logs to (``LogNamespace=``); what systemd says about the unit is
        in the machine's own journal all the same.
    :arg journalctl: the program to call.
    :raises JournalError: when ``directory`` is no folder with journal files.
    """

    def __init__(self, invocation_id, directory=None, namespace="", journalctl="journalctl"):
        if directory:
            _check_directory(directory)
        self._invocation_id = invocation_id
        self._directory = directory
        self._namespace = namespace
        self._journalctl = journalctl

    def from_start(self):
        """Read the instance from its first record to what is its last one now."""
        return self._reading()

    def last(self, count):
        """Read the ``count`` newest records of the instance."""
        return self._reading("--lines=%d" % count)

    def followed(self):
        """Read the instance from its first record on, and wait for more until the reading is closed."""
        return self._reading("--follow", "--no-tail")

    def from_now(self):
        """Read what the instance prints from now on, until the reading is closed."""
        return self._reading("--follow", "--lines=0")

    def unreadable(self):
        """One sentence when files of the journal may not be read by this user, else ``""``."""
        hidden = any(not os.access(path, os.R_OK) for path in journal_files(self._directory))
        return _no_permission() if hidden else ""

    def _reading(self, *options):
        command = [self._journalctl, "--no-pager", "--output=json", "--all"]
        command += ["--output-fields=" + ",".join(journal_entries.FIELDS)]
        if self._directory:
            command.append("--directory=" + self._directory)
        elif self._namespace:
            command.append("--namespace=+" + self._namespace)
        command += options
        return JournalReading(
            command + journal_entries.matches(self._invocation_id),
            journal_entries.of_instance(self._invocation_id),
        )


class JournalReading:
    """One running journalctl, read live. A context manager: the child never outlives it."""

    def __init__(self, command, origin_of):
        self._entries = journal_entries.EntryReader(origin_of)
        self._complaint = b""
        try:
            # AnsibleModule.run_command returns what a program has printed when it is over; this is read live.
            self._child = subprocess.Popen(  # pylint: disable=ansible-bad-function
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, LC_ALL="C", SYSTEMD_COLORS="0", SYSTEMD_LOG_LEVEL="notice"),
            )
        except OSError as error:
            raise JournalError("%s can't be run on this host: %s." % (command[0], error.strerror)) from error
        self._selector = selectors.DefaultSelector()
        for stream in (self._child.stdout, self._child.stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """End the child, whatever it does."""
        self._selector.close()
        self._child.kill()
        self._child.stdout.close()
        self._child.stderr.close()
        self._child.wait()

    def read(self, timeout):
        """The next records, at most one chunk of them; an empty list when none came within ``timeout`` seconds.

        :returns: a list of ``LogRecord``; ``None`` when there are no more to come.
        :raises JournalError: when journalctl failed.
        """
        deadline = time.monotonic() + timeout
        while True:
            for key, _events in self._selector.select(max(0.0, deadline - time.monotonic())):
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    self._selector.unregister(key.fileobj)
                elif key.fileobj is self._child.stderr:
                    self._complaint = (self._complaint + chunk)[:COMPLAINT_LIMIT]
                else:
                    records = self._entries.feed(chunk)
                    if records:
                        return records
            if not self._selector.get_map():
                return self._last_records()
            if time.monotonic() >= deadline:
                return []

    def chunks(self, deadline):
        """Yield lists of records until there are no more, or until ``deadline`` (monotonic seconds).

        :raises JournalError: when journalctl failed, or had not ended by then.
        """
        while True:
            records = self.read(max(0.0, deadline - time.monotonic()))
            if records is None:
                return
            if not records:
                raise JournalError("The journal could not be read to its end in time.")
            yield records

    def _last_records(self):
        status = self._child.wait()
        records = self._entries.end()
        if records:
            return records
        complaint = explain_complaint(self._complaint.decode("utf-8", "replace"), status)
        if complaint:
            raise JournalError(complaint)
        return None


def explain_complaint(text, status):
    """What journalctl wrote to stderr and its exit status, as one sentence; ``""`` when there is nothing to say."""
    if "insufficient permissions" in text or "Permission denied" in text or "not seeing messages" in text:
        return _no_permission()
    if status == 0:
        return ""
    words = text.strip().splitlines()
    return "journalctl failed (exit status %d): %s" % (status, words[0] if words else "it did not say why.")


def journal_files(directory=None):
    """Paths of the journal files in ``directory`` and the folders in it; without it, of this machine's journal."""
    places = [directory] if directory else ["/var/log/journal", "/run/log/journal"]
    for place in places:
        for folder, folders, files in os.walk(place):
            if folder != place:
                folders.clear()
            for name in files:
                if name.endswith((".journal", ".journal~")):
                    yield os.path.join(folder, name)


def _check_directory(directory):
    if not os.path.isdir(directory):
        raise JournalError("journal_directory is %s, which is no directory on this host." % directory)
    if not os.access(directory, os.R_OK | os.X_OK):
        raise JournalError("journal_directory is %s, which %s" % (directory, _may_not_read()))
    if not any(journal_files(directory)):
        raise JournalError("journal_directory is %s, which holds no journal files (*.journal)." % directory)


def _no_permission():
    return "The journal " + _may_not_read()


def _may_not_read():
    return (
        "may not be read by the user with the ID %d: run the task with become, or put that user into the group"
        " systemd-journal." % os.geteuid()
    )
