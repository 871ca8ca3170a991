# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The faults a test can ask for, each failing as a real server was seen to fail."""

from __future__ import annotations

NAMES = {
    # evidence: the server comes up, but its log says something else
    "flags-ignored": "comes up without speculation, whatever the flags say",
    "algorithm-other": "the banner shows another algorithm",
    "mamba-no-buffer": "the banner shows the mamba strategy no_buffer",
    "overlap-disabled": "the banner shows disable_overlap_schedule=True",
    "mem-fraction-other": "the banner shows another mem_fraction_static",
    "draft-not-loaded": "the banner is right, only the target model is loaded",
    "draft-missing-rank": "the last rank never reports its draft model",
    "draft-other-class": "the draft model is a plain model without an MTP head",
    # dying before readiness
    "draft-missing": "dies before the banner, as with a draft folder that does not exist",
    "crash-after-draft-load": "a rank dies after its draft model was loaded",
    "crash-in-warmup": "a rank dies in the server's own warm-up request",
    "oom": "CUDA out of memory while graphs are captured",
    "not-enough-memory": "the weights leave no memory for the KV cache",
    "start-fails-once-in": "=N: of every N starts the first dies after the draft load",
    # never becoming ready
    "never-ready": "the warm-up never ends: 503 for ever",
    "stuck-loading": "no more log lines while the weights load, the port is refused",
    # ready, but not well
    "ready-then-dead": "a rank dies STANDIN_FAULT_SECONDS after readiness",
    "crash-on-first-request": "a rank dies in the first request after readiness",
    "hang-on-request": "=N: from the Nth request on none is ever answered, health stays green",
    "busy-503": "every third health check is answered 503",
    "accept-nothing": "no draft is accepted (STANDIN_ACCEPT_LENGTH for a little more)",
    "garbage-output": "every answer is garbage, the same garbage for the same prompt",
    "unsteady-output": "a repeated prompt gets another answer, at temperature 0 too",
}
COUNTED = ("start-fails-once-in", "hang-on-request")


class Faults:
    """The set of faults of one start; ``faults.count(name)`` is the N of a counted one."""

    def __init__(self, counts: dict[str, int] | None = None):
        self._counts = dict(counts or {})

    @classmethod
    def parse(cls, text: str) -> Faults:
        """``name`` and ``name=N``, separated by commas. Raises ValueError for what no fault is."""
        return cls(dict(parse_one(part.strip()) for part in text.split(",") if part.strip()))

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def count(self, name: str) -> int:
        return self._counts[name]

    def flip(self, fields: dict, mamba_field: str) -> None:
        """Change in the resolved ``fields`` exactly what the evidence faults name."""
        if "algorithm-other" in self:
            fields["speculative_algorithm"] = "EAGLE3"
        if "mamba-no-buffer" in self:
            fields[mamba_field] = "no_buffer"
        if "overlap-disabled" in self:
            fields["disable_overlap_schedule"] = True
        if "mem-fraction-other" in self:
            fields["mem_fraction_static"] = 0.85 if fields["mem_fraction_static"] < 0.8 else 0.75


def parse_one(part: str) -> tuple[str, int]:
    name, equals, count = part.partition("=")
    if name not in NAMES:
        raise ValueError(f"there is no fault {name!r}; the faults are {', '.join(NAMES)}")
    if (name in COUNTED) != bool(equals):
        raise ValueError(f"{name} {'needs =N' if name in COUNTED else 'takes no number'}")
    if equals and (not count.isdigit() or int(count) < 1):
        raise ValueError(f"{name}={count}: N must be 1 or more")
    return name, int(count) if equals else 1
