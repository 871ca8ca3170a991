# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that the log of one start has shown so far."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import dialects, redaction, server_log
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import Evidence
from ansible_collections.llmops.sglang.plugins.module_utils.quoting import is_quoted
from ansible_collections.llmops.sglang.plugins.module_utils.timeline import Timeline
from ansible_collections.llmops.sglang.plugins.module_utils.tracebacks import HEADER

# No start has more of them; a log that does is hostile.
MOST_KEPT = 200
MOST_EXCEPTIONS = 20
MOST_RANKS = 5000
MOST_LOADS_PER_RANK = 100
# A server_args line outside SGLang's own log format must look like a whole one.
FIELDS_OF_EVERY_BANNER = ("model_path", "speculative_algorithm")


@dataclasses.dataclass(frozen=True)
class Load:
    """One model's weights on one rank. ``memory_gb`` is None when the line has no figure."""

    model_class: str
    memory_gb: float | None
    evidence: Evidence


@dataclasses.dataclass
class RankLoads:
    """What one rank has loaded, in order: first the target model, then the draft models."""

    label: str
    loads: list = dataclasses.field(default_factory=list)
    begun: int = 0

    @property
    def loading_target(self):
        return self.begun <= 1 and not self.loads

    @property
    def loading_draft(self):
        return bool(self.loads) and self.begun > len(self.loads)


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a start failed: ``code`` of the fatal line, ``text`` the line or the exception, whole.

    ``process`` is whose traceback it was, ``""`` for a plain line; ``in_draft``: while the draft model was handled.
    """

    code: str
    text: str = dataclasses.field(repr=False)
    evidence: Evidence
    process: str = ""
    in_draft: bool = False

    def announces(self, other):
        """Whether this is the line above the traceback that ``other`` ends."""
        return self.text.endswith(HEADER) and self.evidence.rank == other.evidence.rank


class StartFacts:
    """Collects the events of one start.

    When the log holds several starts, only the last one is kept and ``starts`` counts them. Everything here is as
    printed: each text that leaves must go through ``redactor``, which knows every secret that the log has shown.

    * ``banner``: the fields of the ``server_args=`` line (:class:`banner.Banner`) or None
    * ``ranks``: rank label or process to :class:`RankLoads`
    * ``ready``, ``http_up``, ``stopping``: :class:`~evidence.Evidence` or None
    * ``pooled_ranks``: ranks to how many memory pools they have made
    * ``failures``: fatal lines in order; ``exceptions``: other tracebacks' last lines, which may explain a death
    * ``skipped_tensors``: ``(parameter, evidence)`` of a draft model
    * ``unit_exit``, ``unit_result``: systemd's last word on the unit, ``(event, evidence)`` or None
    * ``accept_lengths``: ``(lowest, highest, lines)`` of decode lines that carry one, or None
    * ``plain_decode``: evidence of a decode line without an accept length, or None
    * ``suppressed``: how many messages journald says it has dropped
    """

    def __init__(self):
        self.redactor = redaction.Redactor()
        self.starts = 0
        self.prefix_seen = False
        self.suppressed = 0
        self.suppressed_evidence = None
        self._begin()

    def _begin(self):
        self.starts += 1
        self.banner = None
        self.banner_event = None
        self.banner_release = None
        self.ranks = {}
        self.first_free_gb = None
        self.ready = None
        self.http_up = None
        self.stopping = None
        self.pooled_ranks = {}
        self.token_pool = None
        self.failures = []
        self.exceptions = []
        self.traceback_open = False
        self.skipped_tensors = []
        self.promoted = None
        self.unit_exit = None
        self.unit_result = None
        self.unit_ended = None
        self.accept_lengths = None
        self.decode_evidence = None
        self.plain_decode = None
        self.notices = {}
        self.output_seen = False
        self._answered_requests = False
        self._timeline = Timeline()

    @property
    def fatal(self):
        """Whether a line was seen after which no server goes on."""
        return bool(self.failures)

    def add(self, event):
        """Take one event in. Events come in the order of the log."""
        if self._begins_new_start(event):
            self._begin()
        handler = HANDLERS.get(type(event))
        if handler:
            handler(self, event)

    def phases(self):
        """The steps of the start that are over: a list of ``{"name", "seconds", "elapsed"}``, see :mod:`timeline`."""
        return self._timeline.phases()

    def _begins_new_start(self, event):
        if isinstance(event, server_log.Banner):
            return self._is_later_banner(event)
        if isinstance(event, (server_log.BootLine, server_log.UnitStarting)):
            return self._over or isinstance(event, server_log.BootLine) and self._is_up_in_another_process(event)
        return _is_error_in_arguments(event) and self._has_run and self._is_up_in_another_process(event)

    def _is_later_banner(self, event):
        """Whether a banner is another start's: the in-process Engine prints its own one twice."""
        other = self._has_run or self.banner is not None and self.banner != event.fields
        return other and self._is_another_process(event) and self._is_believable(event) and not self._completes(event)

    def _is_up_in_another_process(self, event):
        return bool(self.banner or self._serves or self.ranks) and self._is_another_process(event)

    def _is_believable(self, event):
        """Whether a banner may be the server's own. Once it serves requests, a line may show what somebody sent."""
        whole = event.fields.complete and all(name in event.fields for name in FIELDS_OF_EVERY_BANNER)
        if self._serves and not self._over:
            return whole and len(event.fields.raw) >= dialects.FEWEST_FIELDS
        return event.own_format or whole

    def _is_another_process(self, event):
        if self.banner_event is None:
            return True
        known = self.banner_event.record.pid
        return known is None or event.record.pid is None or known != event.record.pid

    @property
    def _serves(self):
        return bool(self.ready or self.http_up or self.decode_evidence or self._answered_requests)

    @property
    def _over(self):
        return bool(self.failures or self.stopping or self.unit_exit or self.unit_result or self.unit_ended)

    @property
    def _has_run(self):
        return bool(self._over or self._serves or self.ranks)

    def _output(self, event):
        self.output_seen = True
        self.prefix_seen = self.prefix_seen or event.prefixed
        self._timeline.begin(event)

    def _secrets(self, event):
        for value in event.values:
            self.redactor.learn(value)

    def _banner(self, event):
        if not self._is_believable(event) or self.banner and not self._completes(event):
            return
        self.banner = event.fields
        self.banner_event = dataclasses.replace(event, record=dataclasses.replace(event.record, text=""))
        self.banner_release = dialects.range_of(event.fields)
        self.output_seen = True
        self._learn_fields(event.fields)
        self._timeline.reach("banner", event)

    def _learn_fields(self, fields):
        """The values of secret fields as they are, without the quotes and escapes that they are printed with."""
        for name in fields.raw:
            if is_quoted(fields.raw[name]) and redaction.is_secret_value(name, "a string"):
                self.redactor.learn(fields.get(name))

    def _completes(self, event):
        """Whether this is the whole of a banner that was cut into several records."""
        if self.banner is None or self.banner.complete:
            return False
        first, whole = self.banner_event.record, event.record
        return (first.cursor, first.pid) == (whole.cursor, whole.pid) and set(self.banner.raw) <= set(event.fields.raw)

    def _load_began(self, event):
        if self.ready:
            return
        rank = self._rank(event)
        if rank:
            rank.begun += 1
        if self.first_free_gb is None:
            self.first_free_gb = event.free_gb

    def _weights_loaded(self, event):
        rank = None if self.ready else self._rank(event)
        if not rank or len(rank.loads) >= MOST_LOADS_PER_RANK:
            return
        first = not rank.loads and not dialects.is_draft_class(event.model_class)
        rank.loads.append(Load(event.model_class, event.memory_gb, Evidence.of(event)))
        rank.begun = max(rank.begun, len(rank.loads))
        self._timeline.reach("target_weights" if first else "draft_weights", event)

    def _tensor_skipped(self, event):
        rank = None if self.ready else self._rank(event)
        if not rank or len(self.skipped_tensors) >= MOST_KEPT:
            return
        parts = event.parameter.lower().split(".")
        named = any(part in ("mtp", "nextn", "eagle") for part in parts) and not (rank.begun and rank.loading_target)
        if named or rank.loading_draft:
            self.skipped_tensors.append((event.parameter, Evidence.of(event)))

    def _rank(self, event):
        key = event.rank or event.record.pid or ""
        if key not in self.ranks:
            if len(self.ranks) >= MOST_RANKS:
                return None
            self.ranks[key] = RankLoads(event.rank)
        return self.ranks[key]

    def _promotion(self, event):
        self.promoted = self.promoted or Evidence.of(event)

    def _memory_pool(self, event):
        if self.ready or len(self.pooled_ranks) >= MOST_RANKS:
            return
        key = event.rank or event.record.pid or ""
        self.pooled_ranks[key] = self.pooled_ranks.get(key, 0) + 1
        self._timeline.reach("memory_pool", event)

    def _token_pool(self, event):
        if not self.ready:
            self.token_pool = event.tokens

    def _graphs(self, event):
        if not self.ready:
            self._timeline.reach("graphs", event)

    def _http(self, event):
        if not self.http_up:
            self.http_up = Evidence.of(event)

    def _answered(self, event):
        self._answered_requests = True
        if not self.ready:
            self._timeline.reach("warm_up", event)

    def _ready(self, event):
        # Without its port a server's warm-up reaches whoever holds the port, and passes.
        without_port = any(failure.code == "bind_error" for failure in self.failures)
        if not self.ready and not without_port:
            self.ready = Evidence.of(event)
            self._timeline.reach("ready", event)

    def _decode(self, event):
        if event.accept_length is None:
            self.plain_decode = self.plain_decode or Evidence.of(event)
        else:
            low, high, lines = self.accept_lengths or (event.accept_length, event.accept_length, 0)
            self.accept_lengths = (min(low, event.accept_length), max(high, event.accept_length), lines + 1)
        self.decode_evidence = Evidence.of(event)

    def _notice(self, event):
        self.notices.setdefault(event.code, Evidence.of(event))

    def _stopping(self, event):
        self.stopping = self.stopping or Evidence.of(event)

    def _fatal_line(self, event):
        lines = [line for line in event.line.split("\n") if line.strip()]
        self._keep(Failure(event.code, lines[-1] if lines else "", Evidence.of(event)))

    def _traceback_began(self, event):
        self.traceback_open = True

    def _traceback_closed(self, event):
        self.traceback_open = False

    def _traceback_end(self, event):
        failure = Failure("exception", event.exception, Evidence.of(event), event.process, event.in_draft)
        if event.process == "other":
            self.exceptions.append(failure)
            del self.exceptions[:-MOST_EXCEPTIONS]
        else:
            self.failures = [known for known in self.failures if not known.announces(failure)]
            self._keep(failure)

    def _keep(self, failure):
        """What fails while an orderly stop is under way is no failure of the start."""
        stopped_in_order = self.ready and self.stopping and not self.failures
        if len(self.failures) < MOST_KEPT and not stopped_in_order:
            self.failures.append(failure)

    def _exit(self, event):
        self.unit_exit = (event, Evidence.of(event))
        self.traceback_open = False

    def _result(self, event):
        if not self.unit_result or event.result == "start-limit-hit":
            self.unit_result = (event, Evidence.of(event))
        self.traceback_open = False

    def _ended(self, event):
        self.unit_ended = Evidence.of(event)

    def _suppressed(self, event):
        self.suppressed += event.count
        self.suppressed_evidence = Evidence.of(event)


def _is_error_in_arguments(event):
    """Whether a start ends here before it has printed its banner."""
    if isinstance(event, server_log.TracebackEnd):
        return event.process == "main" and event.in_arguments
    return isinstance(event, server_log.FatalLine) and event.code == "usage_error"


HANDLERS = {
    server_log.OutputSeen: StartFacts._output,
    server_log.SecretsShown: StartFacts._secrets,
    server_log.Banner: StartFacts._banner,
    server_log.LoadBegan: StartFacts._load_began,
    server_log.WeightsLoaded: StartFacts._weights_loaded,
    server_log.TensorSkipped: StartFacts._tensor_skipped,
    server_log.AlgorithmPromoted: StartFacts._promotion,
    server_log.MemoryPool: StartFacts._memory_pool,
    server_log.TokenPool: StartFacts._token_pool,
    server_log.GraphsCaptured: StartFacts._graphs,
    server_log.HttpUp: StartFacts._http,
    server_log.RequestAnswered: StartFacts._answered,
    server_log.Ready: StartFacts._ready,
    server_log.FollowerUp: StartFacts._ready,
    server_log.DecodeBatch: StartFacts._decode,
    server_log.Notice: StartFacts._notice,
    server_log.Stopping: StartFacts._stopping,
    server_log.FatalLine: StartFacts._fatal_line,
    server_log.TracebackBegan: StartFacts._traceback_began,
    server_log.TracebackEnd: StartFacts._traceback_end,
    server_log.TracebackClosed: StartFacts._traceback_closed,
    server_log.UnitExit: StartFacts._exit,
    server_log.UnitResult: StartFacts._result,
    server_log.UnitEnded: StartFacts._ended,
    server_log.Suppressed: StartFacts._suppressed,
}
