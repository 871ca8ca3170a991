# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

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


def test_the_figures_that_the_log_has():
    assert memory_advice.figures(facts()) == (
        "mem_fraction_static 0.88, draft model 4.70 GB, 95.00 GB free before the load"
    )
    assert memory_advice.figures(facts_of([])) == ""
