# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Log text of a SGLang server to typed events. No I/O, no judgement.

Nothing in a log is trusted. What a line says counts only where the server itself can have written it: at the start of a
message, right behind the logger's prefix. A prompt that somebody sends stands inside a line.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from ansible_collections.llmops.sglang.plugins.module_utils import banner, redaction
from ansible_collections.llmops.sglang.plugins.module_utils.tracebacks import TracebackReader, introduces_traceback

# A banner that was cut into pieces is put together up to this many characters.
LONGEST_BANNER = 1 << 18
LONGEST_MESSAGE = 4000
# Where in a line of an unknown log format its message may begin.
DEEPEST_MESSAGE = 200

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LINE_END = re.compile(r"[\r\n]+")
# logging.Formatter(f"[%(asctime)s{prefix}] %(message)s") (sglang/srt/utils/common.py, configure_logger). The prefix has
# the ranks, in an order that changed with the releases.
PREFIX = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)((?: [A-Z_]{2,12}\d{1,5}){0,8})\] ?")
PREFIX_START = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
# What journalctl -o short and syslog put before a line.
SYSLOG_HEAD = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+-]{8,24}Z?) \S{1,255}"
    r" ([\w.@-]{1,64})\[(\d{1,9})\]: "
)
# The prefix of a logger that was configured otherwise (SGLANG_LOGGING_CONFIG_PATH): a level or a time, nothing quoted.
OTHER_HEAD = re.compile(
    r"""[^'"={}()\\]*(?:\b(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b|\d\d:\d\d)[^'"={}()\\]*[\s:\]|>-]"""
)
JSON_MESSAGE_KEYS = ("message", "msg", "log")

BANNER_START = "server_args="
LOAD_END = re.compile(r"Load weight end\.\s{1,3}")
KEY_VALUE = re.compile(r"(?:^|,\s)(elapsed|type|avail mem|mem usage)=\s{0,3}([^\s,]{1,200})")
COMMITTED_LOAD = re.compile(r"Committed real weights after CUDA graph capture in ([0-9.]{1,20}) s")
FIGURE = re.compile(r"=\s{0,3}(-?[0-9]{1,12}(?:\.[0-9]{1,6})?)")
DECODE_BATCH = re.compile(r"Decode batch(?: ?\[\d{1,12}\])?[.,]")
ACCEPT_LENGTH = re.compile(r"accept len: ([0-9]{1,6}\.?[0-9]{0,6})")
TOKEN_POOL = re.compile(r"max_total_num_tokens=(\d{1,15})")
SKIPPED_TENSOR = re.compile(r"Parameter (\S{1,300}) not found in params_dict")
WARM_UP_ANSWER = re.compile(r'INFO: {1,8}\S{1,80} - "POST /(?:generate|encode|v1/[a-z/]{1,40}) HTTP/1\.1" 200')
RANK_DIED = re.compile(r"Rank \d{1,5} scheduler (?:is dead|died during initialization)")
SUBPROCESS_CRASHED = re.compile(r"Subprocess \S{1,80} \(pid=\d{1,10}\) crashed with exit code")
HIT_AN_EXCEPTION = re.compile(r"[A-Za-z]{1,40}(?: [A-Za-z]{1,40})? hit an exception: ")
WATCHDOG = re.compile(r"(?:[\w.: ]{0,60}[ :])?[Ww]atchdog timeout \(self\.watchdog_timeout=")
BIND_ERROR = re.compile(r"(?:ERROR: {1,8})?\[Errno 9[89]\] ")
USAGE_ERROR = re.compile(r"(?:\S{0,200}[/ .])?(?:launch_server(?:\.py)?|sglang|__main__\.py)(?: serve)?: error: ")
BOOT = re.compile(r"\S{1,400}/sglang/(?:launch_server|cli/\w{1,30})\.py:\d{1,6}: UserWarning: ")
SUPPRESSED = re.compile(r"Suppressed (\d{1,12}) messages from (\S{1,300})")

UNIT_EXIT = re.compile(r"Main process exited, code=(\w{1,20}), status=(\S{1,40})")
UNIT_RESULT = re.compile(r"Failed with result '([\w-]{1,40})'")


@dataclasses.dataclass(frozen=True)
class LogRecord:
    """One journal record or one line of a log file.

    ``text`` is what was printed, decoded with ``errors="replace"``: it may hold several physical lines, carriage
    returns, ANSI escapes. ``timestamp`` is ISO 8601 in UTC, or ``""``. ``origin`` says who speaks: ``"service"`` (the
    unit's own stdout and stderr), ``"systemd"`` (PID 1 about the unit) or ``"journald"`` (the journal about itself).
    """

    text: str = dataclasses.field(repr=False)
    timestamp: str = ""
    pid: int | None = None
    cursor: str = ""
    origin: str = "service"


# Events are printed nowhere and compared with nothing: what they hold may be secret.
event = functools.partial(dataclasses.dataclass, frozen=True, eq=False, repr=False)


@event
class Event:
    """Something that the log says.

    ``line`` is the physical line without prefix and terminal escapes, ``rank`` the tag that it was printed with
    (``"TP0"``, ``"DP0 TP3"``; ``""`` without one), ``clock`` the server's own time of it (local, without zone) or
    ``""``.
    """

    record: LogRecord
    line: str
    rank: str
    clock: str


@event
class OutputSeen(Event):
    """The first line of the service, and the first one with the prefix of SGLang's own logger."""

    prefixed: bool


@event
class SecretsShown(Event):
    """The line shows secrets."""

    values: tuple


class BootLine(Event):
    """A main process has just begun."""


@event
class Banner(Event):
    """The ``server_args=`` line. ``own_format``: it stands where SGLang's own logger puts it."""

    fields: banner.Banner
    own_format: bool


@event
class LoadBegan(Event):
    """``Load weight begin.``; free GPU memory in GB, None if not printed."""

    free_gb: float | None


@event
class WeightsLoaded(Event):
    """``Load weight end.`` in any of its forms.

    ``model_class`` is ``""`` in the form that names none (0.5.18 and later, with startup weight-load overlap).
    ``memory_gb`` is free memory before minus after, so it may be negative.
    """

    model_class: str
    memory_gb: float | None
    free_gb: float | None
    elapsed_s: float | None


@event
class TensorSkipped(Event):
    """A tensor of the checkpoint has no place in the model."""

    parameter: str


class AlgorithmPromoted(Event):
    """NEXTN became FROZEN_KV_MTP because the draft is a Gemma 4 assistant (0.5.12 and later)."""


class MemoryPool(Event):
    """The KV cache of one model runner is there."""


@event
class TokenPool(Event):
    """``max_total_num_tokens=``: the scheduler knows its room, in tokens."""

    tokens: int


class GraphsCaptured(Event):
    """``Capture cuda graph end.`` and its relatives."""


class HttpUp(Event):
    """The HTTP server listens; the warm-up begins."""


class RequestAnswered(Event):
    """A generation was answered with 200; before ``Ready`` that is the warm-up's own."""


class Ready(Event):
    """``The server is fired up and ready to roll!``"""


class FollowerUp(Event):
    """A node of rank 1 or above has started its ranks, and now only answers health checks (0.5.18, utils/common.py)."""


@event
class DecodeBatch(Event):
    """A decode line. ``accept_length`` (with the target's own token) is there exactly when the scheduler speculates."""

    accept_length: float | None


@event
class Notice(Event):
    """A warning that explains a condition; see :data:`NOTICES`."""

    code: str


class Stopping(Event):
    """An orderly end: SIGTERM, or the HTTP server has shut down."""


@event
class FatalLine(Event):
    """A line after which no server goes on; see :data:`FATAL_CODES`."""

    code: str


class TracebackBegan(Event):
    """``Traceback (most recent call last):``"""


@event
class TracebackEnd(Event):
    """The last line of a traceback.

    ``process``: ``scheduler`` (or another child that says it hit an exception), ``warm-up``, ``main`` or ``other``.
    ``in_arguments``: it was raised while the main process made sense of its arguments, so before the banner.
    ``in_draft``: it was raised while the draft model was handled.
    """

    process: str
    in_arguments: bool
    in_draft: bool
    exception: str


class TracebackClosed(Event):
    """No further traceback of the same chain follows."""


@event
class UnitExit(Event):
    """systemd: the main process is gone. ``code`` is ``exited``, ``killed`` or ``dumped``; ``status`` as printed."""

    code: str
    status: str


@event
class UnitResult(Event):
    """systemd: the unit failed; ``result`` is its reason, such as ``oom-kill`` or ``start-limit-hit``."""

    result: str


class UnitStarting(Event):
    """systemd: the unit is being started."""


class UnitEnded(Event):
    """systemd: the unit was stopped or is going to be restarted."""


@event
class Suppressed(Event):
    """journald dropped messages of the unit because they came too fast."""

    count: int


# Start of a warning's text to a code.
NOTICES = (
    ("SGLANG_ENABLE_SPEC_V2 has been removed", "environment_without_effect"),
    ("'--mamba-scheduler-strategy' is deprecated", "flag_deprecated"),
    ("Overlap scheduler is disabled", "overlap_off"),
    ("Overlap schedule is not implemented for speculative decoding", "overlap_off"),
    ("Disabling overlap schedule", "overlap_off"),
    ("Non-overlap (synchronous) spec v2 is used", "overlap_off"),
    ("Spec v1 is used", "overlap_off"),
    ("Disabling radix cache since speculative decoding", "radix_cache_off"),
    ("Health check failed. Server couldn't get a response from detokenizer", "health_check_failed"),
)
FATAL_CODES = (
    "child_failed",
    "exception",
    "initialization_failed",
    "rank_died",
    "watchdog",
    "bind_error",
    "usage_error",
)
UNIT_ENDINGS = ("Stopped ", "Stopping ", "Scheduled restart job", "Deactivated successfully", "Succeeded.")
FIXED_MESSAGES = (
    ("The server is fired up and ready to roll!", Ready),
    ("Dummy health check server started", FollowerUp),
    ("Memory pool end.", MemoryPool),
    ("SIGTERM received.", Stopping),
    ("Gracefully exiting...", Stopping),
    ("INFO:     Finished server process [", Stopping),
)


class LogParser:
    """Feed it records in order; it never raises and its work is linear in the size of the text."""

    def __init__(self):
        self._tracebacks = {}
        self._unfinished = None
        self._seen_output = False
        self._seen_prefix = False

    def feed(self, record):
        """:returns: the list of events that ``record`` completes."""
        text = ANSI.sub("", record.text).replace("\0", "")
        if record.origin == "systemd":
            return _systemd_events(record, text)
        if record.origin == "journald":
            return _journald_events(record, text)
        events = []
        for line in LINE_END.split(text):
            head = SYSLOG_HEAD.match(line)
            if head:
                events += self._syslog_line(record, line[head.end():], head)
            else:
                events += self._physical_line(record, line)
        return events

    def _syslog_line(self, record, line, head):
        program, pid = head.groups()
        if program == "systemd":
            return _systemd_events(record, line)
        if program == "systemd-journald":
            return _journald_events(record, line)
        return self._physical_line(dataclasses.replace(record, pid=record.pid or int(pid)), line)

    def _physical_line(self, record, line):
        events = []
        for piece in _unglued(line):
            events += self._line(record, piece)
        return events

    def _line(self, record, text):
        prefix = PREFIX.match(text)
        message = text[prefix.end():] if prefix else text
        rank, clock = (prefix.group(2).strip(), prefix.group(1)) if prefix else ("", "")
        place = (record, message, rank, clock)
        events = self._output_seen(place, bool(prefix))
        secrets = redaction.secret_values(message)
        if secrets:
            events.append(SecretsShown(*place, values=tuple(secrets)))
        events += self._traceback_events(place, bool(prefix))
        said = self._continued_banner(place) if self._unfinished and not prefix else None
        said = said or (self._message(place) if prefix else self._bare_message(place))
        return events + [said] if said else events

    def _output_seen(self, place, prefixed):
        if not place[1] or self._seen_output and (self._seen_prefix or not prefixed):
            return []
        self._seen_output = True
        self._seen_prefix = self._seen_prefix or prefixed
        return [OutputSeen(*place, prefixed=prefixed)]

    def _traceback_events(self, place, prefixed):
        pid = place[0].pid
        reader = self._tracebacks.get(pid)
        events = []
        if reader:
            ended = reader.feed(place[1], prefixed)
            if ended:
                record, line, _none, clock = place
                exception = (ended.process, ended.in_arguments, ended.in_draft, ended.text)
                events.append(TracebackEnd(record, line, reader.rank, clock, *exception))
            if reader.closed:
                del self._tracebacks[pid]
                events.append(TracebackClosed(*place))
        if pid not in self._tracebacks and introduces_traceback(place[1]):
            self._tracebacks[pid] = TracebackReader(place[1], place[2])
            events.append(TracebackBegan(*place))
        return events

    def _message(self, place):
        message = place[1]
        if message.startswith(BANNER_START):
            return self._banner(place, True)
        return _event(place)

    def _bare_message(self, place):
        """A line without SGLang's own prefix: a plain format, another logger's format, JSON, or no log line at all."""
        record, line, rank, clock = place
        if line.startswith(BANNER_START):
            return self._banner(place, not self._seen_prefix)
        if line.startswith("{"):
            line = _json_message(line)
        elif not line.startswith(" "):
            line = _message_behind_other_head(line) or line
        rank, clock, line = _inner_prefix(rank, clock, line)
        if line.startswith(BANNER_START):
            return self._banner((record, line, rank, clock), False)
        return _event((record, line, rank, clock))

    def _banner(self, place, own_format):
        text = place[1][len(BANNER_START):]
        fields = banner.parse(text)
        if fields is None:
            return None
        unfinished = not fields.complete and len(text) < LONGEST_BANNER
        self._unfinished = (place, text, own_format) if unfinished else None
        return _banner_event(place, fields, own_format)

    def _continued_banner(self, place):
        """A banner that a small line limit (2048 bytes in systemd before 234) has cut into several records."""
        first, text, own_format = self._unfinished
        if place[0].pid != first[0].pid or len(text) > LONGEST_BANNER or introduces_traceback(place[1]):
            self._unfinished = None
            return None
        text += place[1]
        self._unfinished = (first, text, own_format)
        if not place[1].rstrip().endswith((")", "}")):
            return None
        fields = banner.parse(text)
        if not fields.complete:
            return None
        self._unfinished = None
        return _banner_event(first, fields, own_format)


def _unglued(line):
    """The log lines of one physical line.

    A progress bar or a library's last words may end without a line feed, and a logger's line follows at once. Text that
    holds a quote may carry what somebody sent, so it is left in one piece.
    """
    start = 0
    for match in PREFIX_START.finditer(line):
        head = line[start:match.start()]
        if head and not _ends_before_next_line(head):
            break
        if head:
            yield head
        start = match.start()
    yield line[start:]


def _ends_before_next_line(head):
    """Whether ``head`` is a line of its own, and none that shows the text of a request up to here."""
    if "'" in head or '"' in head:
        return False
    prefix = PREFIX.match(head)
    if not prefix:
        return True
    message = head[prefix.end():]
    return not (":" in message or "=" in message) or message.startswith(MESSAGE_STARTS)


def _message_behind_other_head(line):
    for start in MESSAGE_STARTS:
        position = line.find(start, 1, DEEPEST_MESSAGE + len(start))
        if position > 0 and OTHER_HEAD.fullmatch(line, 0, position):
            return line[position:]
    return ""


def _json_message(line):
    import json

    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(fields, dict):
        return ""
    texts = (fields.get(key) for key in JSON_MESSAGE_KEYS)
    return next((text for text in texts if isinstance(text, str)), "").rstrip("\n")


def _inner_prefix(rank, clock, line):
    prefix = PREFIX.match(line)
    return (prefix.group(2).strip(), prefix.group(1), line[prefix.end():]) if prefix else (rank, clock, line)


def _banner_event(place, fields, own_format):
    record, _line, rank, clock = place
    return Banner(record, "", rank, clock, fields=fields, own_format=own_format)


def _event(place):
    """The event of one message, or None."""
    message = place[1][:LONGEST_MESSAGE]
    place = (place[0], message, place[2], place[3])
    for start, kind in FIXED_MESSAGES:
        if message.startswith(start):
            return kind(*place)
    for start, read in READERS.get(message[:4], ()):
        if message.startswith(start):
            said = read(place)
            if said:
                return said
    return _notice(place) or _fatal(place)


def _load_began(place):
    return LoadBegan(*place, free_gb=_figure(place[1]))


def _weights_loaded(place):
    head = LOAD_END.match(place[1])
    if not head:
        return None
    committed = COMMITTED_LOAD.match(place[1], head.end())
    if committed:
        seconds = _float(committed.group(1))
        return WeightsLoaded(*place, model_class="", memory_gb=None, free_gb=None, elapsed_s=seconds)
    found = dict(KEY_VALUE.findall(place[1][head.end():]))
    return WeightsLoaded(
        *place,
        model_class=found.get("type", ""),
        memory_gb=_float(found.get("mem usage")),
        free_gb=_float(found.get("avail mem")),
        elapsed_s=_float(found.get("elapsed")),
    )


def _decode_batch(place):
    if not DECODE_BATCH.match(place[1]) or "gen throughput" not in place[1]:
        return None
    accepted = ACCEPT_LENGTH.search(place[1])
    return DecodeBatch(*place, accept_length=_float(accepted.group(1)) if accepted else None)


def _token_pool(place):
    return TokenPool(*place, tokens=int(TOKEN_POOL.match(place[1]).group(1))) if TOKEN_POOL.match(place[1]) else None


def _tensor_skipped(place):
    match = SKIPPED_TENSOR.match(place[1])
    return TensorSkipped(*place, parameter=match.group(1)) if match else None


def _graphs_captured(place):
    return GraphsCaptured(*place) if " end. Time elapsed" in place[1][:80] else None


def _uvicorn_line(place):
    if "Uvicorn running on" in place[1][:40]:
        return HttpUp(*place)
    return RequestAnswered(*place) if WARM_UP_ANSWER.match(place[1]) else None


def _promoted(place):
    return AlgorithmPromoted(*place) if "promoting --speculative-algorithm" in place[1] else None


def _process_tree_killed(place):
    return Stopping(*place) if "include_parent=True" in place[1] else None


def _boot_line(place):
    if BOOT.match(place[1]) or place[1].startswith(("usage: launch_server.py ", "usage: sglang ")):
        return BootLine(*place)
    return None


def _notice(place):
    for start, code in NOTICES:
        if place[1].startswith(start):
            return Notice(*place, code=code)
    return None


def _fatal(place):
    message = place[1]
    code = ""
    if message.startswith(("Received sigquit from a child process", "SIGQUIT received.")):
        code = "child_failed"
    elif message.startswith("Initialization failed."):
        code = "initialization_failed"
    elif HIT_AN_EXCEPTION.match(message):
        code = "exception"
    elif RANK_DIED.match(message) or SUBPROCESS_CRASHED.match(message):
        code = "rank_died"
    elif WATCHDOG.match(message) and "self.soft=True" not in message:
        code = "watchdog"
    elif BIND_ERROR.match(message) and "address" in message:
        code = "bind_error"
    elif USAGE_ERROR.match(message):
        code = "usage_error"
    return FatalLine(*place, code=code) if code else _boot_line(place)


# The first four characters of a message to what reads it.
READERS = {
    "Load": (("Load weight begin.", _load_began), ("Load weight end.", _weights_loaded)),
    "Deco": (("Decode batch", _decode_batch),),
    "max_": (("max_total_num_tokens=", _token_pool),),
    "Para": (("Parameter ", _tensor_skipped),),
    "Capt": (("Capture ", _graphs_captured),),
    "INFO": (("INFO: ", _uvicorn_line),),
    "Uvic": (("Uvicorn running on", _uvicorn_line),),
    "Dete": (("Detected Gemma4", _promoted),),
    "kill": (("kill_process_tree called:", _process_tree_killed),),
}
MESSAGE_STARTS = (
    BANNER_START,
    "Load weight begin.",
    "Load weight end.",
    "Memory pool end.",
    "The server is fired up and ready to roll!",
    "Dummy health check server started",
    "Uvicorn running on",
    "max_total_num_tokens=",
    "Decode batch",
    "Parameter ",
    "Scheduler hit an exception: ",
    "Received sigquit from a child process",
    "SIGQUIT received.",
    "SIGTERM received.",
)


def _systemd_events(record, text):
    place = (record, text[:LONGEST_MESSAGE], "", "")
    unit_exit = UNIT_EXIT.search(place[1])
    if unit_exit:
        return [UnitExit(*place, code=unit_exit.group(1), status=unit_exit.group(2))]
    result = UNIT_RESULT.search(place[1])
    if result:
        return [UnitResult(*place, result=result.group(1))]
    if "Start request repeated too quickly" in place[1]:
        return [UnitResult(*place, result="start-limit-hit")]
    if "killed by the OOM killer" in place[1]:
        return [UnitResult(*place, result="oom-kill")]
    if place[1].startswith(("Starting ", "Started ")):
        return [UnitStarting(*place)]
    return [UnitEnded(*place)] if any(ending in place[1] for ending in UNIT_ENDINGS) else []


def _journald_events(record, text):
    match = SUPPRESSED.search(text[:LONGEST_MESSAGE])
    return [Suppressed(record, text[:LONGEST_MESSAGE], "", "", count=int(match.group(1)))] if match else []


def _figure(text):
    match = FIGURE.search(text)
    return _float(match.group(1)) if match else None


def _float(text):
    try:
        return float(text.rstrip(".,")) if text else None
    except ValueError:
        return None
