# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import memory_advice
from ansible_collections.llmops.sglang.tests.unit.starts import DRAFT, banner_text, facts_of, load_line, log_line


def facts(fraction="0.88", draft_gb=4.7, free=95.0):
    lines = [log_line(banner_text(mem_fraction_static=fraction))]
    if free:
        lines.append(log_line("Load weight begin. avail mem=%.2f GB" % free, "TP0"))
    if draft_gb:
        lines += [load_line(rank="TP0"), load_line(DRAFT, draft_gb, "TP0")]
    return facts_of(lines)


def test_the_step_is_the_draft_model_and_a_gigabyte():
    assert memory_advice.lower(facts()) == "Lower --mem-fraction-static from 0.88 to 0.82."
    assert memory_advice.higher(facts()) == "Raise --mem-fraction-static from 0.88 to 0.94."


def test_without_figures_the_step_is_the_usual_one():
    assert memory_advice.lower(facts(draft_gb=0, free=0)) == "Lower --mem-fraction-static from 0.88 to 0.83."


def test_it_stays_within_what_makes_sense():
    assert memory_advice.higher(facts("0.94")).endswith("to 0.95.")
    assert memory_advice.lower(facts("0.1")).endswith("to 0.10.")


def test_without_a_banner_there_is_no_figure_to_start_from():
    assert memory_advice.lower(facts_of([])) == "Lower --mem-fraction-static by about 0.05."


def names(needed):
    return (
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.6. Raise"
        " --mem-fraction-static above %s (minimum viable = 1 - available/pre = %s). If using speculative decoding,"
        " draft weights are now counted." % (needed, needed)
    )


@pytest.mark.parametrize(
    ("fraction", "needed", "proposed"),
    [
        ("0.6", "0.667", "0.70"),
        ("0.6", "0.670", "0.70"),
        ("0.88", "0.881", "0.94"),
        ("0.88", "0.930", "0.95"),
        ("0.88", "0.950", "0.96"),
        ("0.88", "0.985", "0.99"),
    ],
)
def test_a_figure_that_the_server_names_is_surpassed(fraction, needed, proposed):
    assert memory_advice.higher(facts(fraction), names(needed)) == (
        "Raise --mem-fraction-static from %s to %s (the server needs more than %s)." % (fraction, proposed, needed)
    )


def test_a_figure_that_the_server_names_needs_no_banner():
    assert memory_advice.higher(facts_of([]), names("0.667")) == (
        "Raise --mem-fraction-static to 0.70 (the server needs more than 0.667)."
    )


def test_above_a_figure_near_one_there_is_no_proposal():
    assert memory_advice.higher(facts(), names("0.995")) == (
        "Raise --mem-fraction-static above 0.995, as the server says."
    )


def test_a_figure_that_the_server_has_already_changes_nothing():
    assert memory_advice.higher(facts(), names("0.872")) == memory_advice.higher(facts())


def test_the_figures_that_the_log_has():
    assert memory_advice.figures(facts()) == (
        "mem_fraction_static 0.88, draft model 4.70 GB, 95.00 GB free before the load"
    )
    assert memory_advice.figures(facts_of([])) == ""
