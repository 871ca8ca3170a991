# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator asserts about a server: the option ``expect``, checked and typed."""

from __future__ import annotations

import dataclasses
import math

DRAFT_MEMORY_TOLERANCE_GB = 0.25
# The automatic value of the reference deployment is 0.7509096875, its operators say 0.75.
MEM_FRACTION_TOLERANCE = 0.005
TRUE_WORDS = ("true", "yes", "on", "1")
FALSE_WORDS = ("false", "no", "off", "0")


class ExpectationError(ValueError):
    """An expectation that can't be asserted; the text is one sentence for the operator."""


@dataclasses.dataclass(frozen=True)
class Expectations:
    """What is asserted; None means not asserted. Names may be several, of which one must be met (a tuple).

    Memory is in GB, fractions are of the GPU's memory, ``draft_ranks`` counts the ranks on this node.
    """

    speculative_algorithm: tuple | None = None
    mamba_strategy: tuple | None = None
    disable_overlap_schedule: bool | None = None
    draft_model_class: tuple | None = None
    draft_ranks: int | None = None
    draft_memory_gb: float | None = None
    draft_memory_tolerance_gb: float = DRAFT_MEMORY_TOLERANCE_GB
    mem_fraction_static: float | None = None
    mem_fraction_tolerance: float = MEM_FRACTION_TOLERANCE

    @classmethod
    def from_options(cls, options):
        """The option ``expect`` to expectations. A key that is left out, or None, is not asserted.

        :raises ExpectationError: naming the key, its value and what it may be.
        """
        if not isinstance(options, dict):
            raise ExpectationError("expect is %r: give a dictionary of what the server has to show." % (options,))
        unknown = sorted(str(key) for key in options if key not in READERS)
        if unknown:
            raise ExpectationError(
                "expect has the unknown key %s: it may hold %s." % (", ".join(unknown), ", ".join(READERS))
            )
        return cls(**{key: READERS[key](key, value) for key, value in options.items() if value is not None})

    @property
    def draft_model(self):
        """Whether anything is asserted on the draft model."""
        return any(value is not None for value in (self.draft_model_class, self.draft_ranks, self.draft_memory_gb))


def _names(key, value):
    names = value if isinstance(value, (list, tuple)) else [value]
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ExpectationError("expect.%s is %r: give a name, or a list of names that are accepted." % (key, value))
    return tuple(name.strip() for name in names)


def _algorithms(key, value):
    return tuple(name.upper() for name in _names(key, value))


def _switch(key, value):
    word = str(value).strip().lower()
    if isinstance(value, (bool, str, int)) and word in TRUE_WORDS + FALSE_WORDS:
        return word in TRUE_WORDS
    raise ExpectationError("expect.%s is %r: give true or false." % (key, value))


def _count(key, value):
    what = "a whole number of ranks, 1 or more"
    return int(_number(key, value, what, lambda number: number >= 1 and number % 1 == 0))


def _memory(key, value):
    return _number(key, value, "a size in GB, 0 or more", lambda number: number >= 0)


def _fraction(key, value):
    return _number(key, value, "a fraction of the GPU's memory, above 0 and at most 1", lambda number: 0 < number <= 1)


def _tolerance(key, value):
    return _number(key, value, "a difference, 0 or more", lambda number: number >= 0)


def _number(key, value, what, is_allowed):
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or not is_allowed(number):
        raise ExpectationError("expect.%s is %r: give %s." % (key, value, what))
    return number


READERS = {
    "speculative_algorithm": _algorithms,
    "mamba_strategy": _names,
    "disable_overlap_schedule": _switch,
    "draft_model_class": _names,
    "draft_ranks": _count,
    "draft_memory_gb": _memory,
    "draft_memory_tolerance_gb": _tolerance,
    "mem_fraction_static": _fraction,
    "mem_fraction_tolerance": _tolerance,
}
