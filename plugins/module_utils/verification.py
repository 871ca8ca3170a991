# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verify one start: find its log, read as much of it as the verdict needs, judge it."""

from __future__ import annotations

import collections
import dataclasses
import re
import shutil
import time

from ansible_collections.llmops.sglang.plugins.module_utils import node, service
from ansible_collections.llmops.sglang.plugins.module_utils.conditions import ExpectationError, Expectations
from ansible_collections.llmops.sglang.plugins.module_utils.dialects import release_of
from ansible_collections.llmops.sglang.plugins.module_utils.follow import follow
from ansible_collections.llmops.sglang.plugins.module_utils.journal import Journal, JournalError
from ansible_collections.llmops.sglang.plugins.module_utils.observation import Observation
from ansible_collections.llmops.sglang.plugins.module_utils.redaction import redact_structure

# A server that has died says why in its last lines, however long it ran before.
LAST_RECORDS = 1000
LAST_TEXT = 4 << 20
# systemd logs the start of a unit at once, so a journal that begins later than this has lost its beginning.
LOST_BEGINNING = 60.0
READ_TIMEOUT = 60.0
ASK_INTERVAL = 10.0

OUTPUTS_TO_FILES = ("file", "append", "truncate")
UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]+")
UNIT_SUFFIX = re.compile(r"\.(service|scope|slice|socket|target|timer|mount|path)$")
INVOCATION_ID = re.compile(r"[0-9a-f]{32}")


class UsageError(Exception):
    """The options ask for what can't be; the text is one sentence for the operator."""


BAD_INPUT = (UsageError, ExpectationError, service.ServiceError, JournalError)


@dataclasses.dataclass
class Subject:
    """The service instance that is judged.

    ``fate`` is ``alive``, ``dead``, ``replaced`` or ``unknown``, ``unit`` the last reading of its unit (``None`` where
    that is not known), ``gaps`` say why evidence may be missing (each a sentence without full stop), ``followed`` how
    waiting has ended.
    """

    invocation_id: str
    fate: str = "unknown"
    unit: service.ServiceInstance = None
    gaps: list = dataclasses.field(default_factory=list)
    followed: dict = None

    def summary(self):
        """What results show of it."""
        if self.unit is None:
            return {"invocation_id": self.invocation_id, "main_pid": 0, "state": "unknown", "restarts": 0}
        summary = self.unit.summary()
        if self.fate == "replaced":
            summary.update(main_pid=0, state="replaced", replaced_by=self.unit.invocation_id)
        return dict(summary, invocation_id=self.invocation_id)


def verify(options, run_command, server=None, wait=True):
    """The verdict on one start.

    :arg options: the options of the module ``mtp_verify``.
    :arg run_command: like ``AnsibleModule.run_command``.
    :arg server: the ``ServerApi`` to ask beside the log, or ``None``.
    :arg wait: whether ``follow`` may wait.
    :returns: the result of the module, without ``changed``.
    :raises UsageError, ExpectationError, ServiceError, JournalError: bad input, one sentence each.
    """
    _check(options)
    observation = Observation(Expectations.from_options(options["expect"] or {}))
    if options["sglang_version"]:
        observation.release = {"version": options["sglang_version"], "how": "the option sglang_version"}
    if options["log_file"]:
        subject = _read_log_file(options, observation)
    else:
        subject = _read_journal(options, run_command, observation, server, wait)
    if server and subject.fate in ("alive", "unknown"):
        subject.gaps += _ask(server, observation, subject.unit)
    return _result(observation, subject)


def subject_of(options):
    """What a verdict is about, for a sentence."""
    if options["log_file"]:
        return "MTP in the log %s" % options["log_file"]
    return "MTP on %s" % unit_name(options["unit"])


def unit_name(name):
    """``sglang`` is ``sglang.service``, as everywhere in systemd."""
    return name if UNIT_SUFFIX.search(name) else name + ".service"


def _check(options):
    if not UNIT_NAME.fullmatch(options["unit"]):
        raise UsageError("unit is %r, which is no name of one unit: give one such as sglang.service." % options["unit"])
    if options["sglang_version"] and release_of(options["sglang_version"]) is None:
        raise UsageError(
            "sglang_version is %r, which is no release: give one such as 0.5.12." % options["sglang_version"]
        )
    for name in ("timeout", "progress_timeout"):
        if not 0 < options[name] < float("inf"):
            raise UsageError("%s is %s: give a number of seconds above 0." % (name, options[name]))
    if options["log_file"] and options["follow"]:
        raise UsageError(
            "follow waits for lines that are still to come, and log_file %s is read as it is: leave one of them out."
            % options["log_file"]
        )


def _asked_invocation_id(options):
    given = options["invocation_id"] or ""
    invocation_id = given.strip().replace("-", "").lower()
    if given and not INVOCATION_ID.fullmatch(invocation_id):
        raise UsageError(
            "invocation_id is %r, which is no InvocationID: give the 32 hexadecimal digits that"
            " 'systemctl show -p InvocationID UNIT' prints." % given
        )
    return invocation_id


def _read_log_file(options, observation):
    # What most runs don't need is imported where it is used: on the node it is compiled anew in every run.
    from ansible_collections.llmops.sglang.plugins.module_utils.log_file import LogFile

    log = LogFile(options["log_file"], unit_name(options["unit"]), _asked_invocation_id(options))
    for record in log.records():
        observation.take(record)
    subject = Subject(log.invocation_id)
    if log.losses.without_text:
        subject.gaps.append(
            "%d entries of the file have no message, as journalctl leaves out what is longer than 4096 bytes unless it"
            " is called with --all" % log.losses.without_text
        )
    if log.losses.unreadable:
        subject.gaps.append("%d lines of the file are no journal entries" % log.losses.unreadable)
    return subject


def _read_journal(options, run_command, observation, server, wait):
    subject = _find_instance(options, run_command)
    namespace = subject.unit.log_namespace if subject.unit else ""
    journal = Journal(subject.invocation_id, options["journal_directory"], namespace)
    if observation.release is None:
        observation.release = _installed_release(subject.unit)
    try:
        if options["follow"] and wait and subject.fate == "alive":
            _follow(options, run_command, journal, observation, subject, server)
        else:
            _read_at_rest(journal, observation, subject)
            _doubt_a_foreign_instance(observation, subject)
            if options["follow"] and wait:
                subject.followed = {"ended": subject.fate, "seconds": 0.0}
    except JournalError as error:
        subject.gaps.append(_as_clause(error))
    else:
        subject.gaps += _gaps(journal, observation, subject)
    return subject


def _find_instance(options, run_command):
    """The instance that was asked for or, without one, the one that the unit has now."""
    name, asked = unit_name(options["unit"]), _asked_invocation_id(options)
    try:
        unit = _look_at(name, run_command)
    except service.ServiceError:
        if not asked:
            raise
        return Subject(asked)
    if not asked and not unit.invocation_id:
        if not unit.exists:
            raise UsageError("There is no unit %s on this host: name the unit that runs SGLang with unit." % name)
        raise UsageError(
            "%s has no instance to judge, it is %s: start it, or name an earlier instance with invocation_id."
            % (name, unit.summary()["state"])
        )
    invocation_id = asked or unit.invocation_id
    # Journal files from elsewhere may be about another host's unit of the same name.
    foreign = options["journal_directory"] or not (unit.exists or unit.invocation_id)
    if foreign and unit.invocation_id != invocation_id:
        return Subject(invocation_id)
    return Subject(invocation_id, unit.fate_of(invocation_id), unit)


def _look_at(name, run_command):
    if not shutil.which("systemctl"):
        raise service.ServiceError("systemctl is not on this host: give a captured log as log_file.")
    return service.read_instance(run_command, name)


def _installed_release(unit):
    version = node.sglang_version(unit.executable) if unit and unit.executable else ""
    return {"version": version, "how": "the package metadata beside %s" % unit.executable} if version else None


def _read_at_rest(journal, observation, subject):
    deadline = time.monotonic() + READ_TIMEOUT
    with journal.from_start() as reading:
        at_the_end = _take_start(reading, observation, deadline)
    if not at_the_end and subject.fate in ("dead", "replaced"):
        with journal.last(LAST_RECORDS) as reading:
            _take_end(reading, observation, deadline)


def _doubt_a_foreign_instance(observation, subject):
    """An InvocationID of which the journal shows no server says nothing about the unit: it may be of another one."""
    facts = observation.facts
    if subject.fate == "replaced" and not (facts.banner or facts.fatal or facts.failures or facts.unit_exit):
        subject.fate = "unknown"
        subject.gaps.append(
            "the journal shows no server with the InvocationID %s: look whether it is one of this unit"
            % subject.invocation_id
        )


def _take_start(reading, observation, deadline):
    """Take records until no more are needed; whether these were all that the instance has."""
    for records in reading.chunks(deadline):
        for record in records:
            observation.take(record)
            if observation.told_all:
                return False
    return True


def _take_end(reading, observation, deadline):
    """Take of the newest records those that were not taken yet, as far as they fit into memory."""
    waiting, size = collections.deque(), 0
    for records in reading.chunks(deadline):
        for record in records:
            if record.cursor == observation.last_cursor:
                waiting.clear()
                size = 0
                continue
            waiting.append(record)
            size += len(record.text)
            while size > LAST_TEXT:
                size -= len(waiting.popleft().text)
    observation.take(*waiting)


def _follow(options, run_command, journal, observation, subject, server):
    name = unit_name(options["unit"])
    began = time.monotonic()
    next_question = began + ASK_INTERVAL

    def look():
        nonlocal next_question
        try:
            subject.unit = _look_at(name, run_command)
        except service.ServiceError:
            # systemd does not answer while it executes itself anew.
            return subject.fate
        subject.fate = subject.unit.fate_of(subject.invocation_id)
        silent = observation.facts.banner is None
        if server and silent and subject.fate == "alive" and time.monotonic() >= next_question:
            _ask(server, observation, subject.unit)
            next_question = time.monotonic() + ASK_INTERVAL
        return subject.fate

    with journal.followed() as reading:
        ended = follow(reading, observation, look, options["timeout"], options["progress_timeout"])
    subject.followed = {"ended": ended, "seconds": round(time.monotonic() - began, 1)}
    if ended == "silent":
        subject.gaps.append("nothing was logged for %g s (progress_timeout)" % options["progress_timeout"])
    if ended == "timeout":
        subject.gaps.append("%g s of waiting are over (timeout)" % options["timeout"])


def _gaps(journal, observation, subject):
    """Why the journal may not hold all that this instance has logged."""
    unit = subject.unit
    if not observation.records and journal.unreadable():
        return [_as_clause(journal.unreadable())]
    if unit and unit.standard_output in OUTPUTS_TO_FILES:
        return ["its unit writes to a file (StandardOutput=%s): give that as log_file" % unit.standard_output]
    if not observation.records:
        return ["the journal holds no record of the instance %s (vacuumed, or never written)" % subject.invocation_id]
    if subject.fate == "alive" and unit.started_monotonic:
        running = time.monotonic() - unit.started_monotonic
        late = running - observation.first_age(time.time())
        if late > LOST_BEGINNING:
            return ["its first record is %d s younger than its process, so the earlier ones are lost" % late]
    if observation.past_start and not observation.decided:
        return ["it is not among the first %d records of the instance" % observation.records]
    return []


def _ask(server, observation, unit):
    """Let the server tell what it runs with; why it did not, if so."""
    from ansible_collections.llmops.sglang.plugins.module_utils.listener import find_listener

    address = server.address
    listener = find_listener(address.host, address.port, unit) if unit else None
    if listener and listener.of_instance is False:
        return [
            "what answers at %s is the process %d (%s), which does not belong to this instance"
            % (address.url, listener.pid, listener.command)
        ]
    status, fields = server.server_info()
    if fields is None:
        answer = "HTTP status %d" % status if status else "no HTTP answer"
        return ["%s gave no /server_info (%s)" % (address.url, answer)]
    observation.take_answer(fields, server.get("/health").ok)
    return []


def _result(observation, subject):
    judgement = observation.judge(subject.fate, "; ".join(subject.gaps))
    result = {
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "conditions": judgement.conditions,
        "instance": subject.summary(),
        "release": judgement.release,
        "phases": observation.facts.phases(),
        "diagnosis": _diagnose(observation.facts, judgement, subject.fate),
    }
    if subject.followed:
        result["followed"] = subject.followed
    return redact_structure(result, observation.facts.redactor)


def _diagnose(facts, judgement, fate):
    if judgement.verdict == "proven":
        return []
    from ansible_collections.llmops.sglang.plugins.module_utils.diagnosis import diagnose

    return diagnose(facts, judgement, fate)


def _as_clause(sentence):
    text = str(sentence).rstrip(".")
    return text[:1].lower() + text[1:]
