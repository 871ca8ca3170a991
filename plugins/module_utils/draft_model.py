# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The draft model: on every local rank, told from the target by its class.

Each rank prints ``Load weight end. … type=X …`` for the target model first, then for its draft models
(sglang/srt/model_executor/model_runner.py); only X and the order tell them apart.
"""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import missing_evidence
from ansible_collections.llmops.sglang.plugins.module_utils.dialects import ALGORITHM, is_draft_class
from ansible_collections.llmops.sglang.plugins.module_utils.evidence import Evidence
from ansible_collections.llmops.sglang.plugins.module_utils.finding import MET, NO_EVIDENCE, UNMET, Finding

MOST_SHOWN = 64
# Free memory before minus after can't be less, unless something else freed memory meanwhile.
LEAST_MEMORY_GB = -0.05


def judge_draft(case):
    """The finding on ``draft_model``."""
    drafts, strangers = _drafts_by_rank(case), _other_drafts(case)
    expected = _expected(case)
    evidence = [load.evidence for loads in drafts.values() for load in loads][:MOST_SHOWN]
    observed = _observed({**strangers, **drafts})

    def finding(status, reason, proof=evidence):
        return Finding(status, expected, observed, proof, reason)

    skipped = case.facts.skipped_tensors
    if skipped:
        reason = "%d tensors of the draft model were skipped, the first is %s" % (len(skipped), skipped[0][0])
        return finding(UNMET, reason, [proof for _name, proof in skipped][:MOST_SHOWN])
    if strangers:
        stranger = next(iter(strangers.values()))[0]
        reason = "the draft model loaded is %s" % stranger.model_class
        return finding(UNMET, reason, [stranger.evidence])
    wanted = expected_ranks(case)
    if len(drafts) < wanted or not drafts:
        return _incomplete(case, drafts, wanted, finding)
    return _with_memory(case, drafts, finding)


def expected_ranks(case):
    """How many ranks on this node must show the draft model: as asserted, else by the server's own arguments."""
    return _known_ranks(case) or max(1, len(case.facts.ranks))


def _known_ranks(case):
    if case.expectations.draft_ranks is not None:
        return case.expectations.draft_ranks
    if case.facts.banner:
        return local_ranks(case.facts.banner)
    return _ranks_by_http(case.http_fields) if "tp_size" in case.http_fields else None


def local_ranks(banner):
    """Tensor times pipeline times data parallelism over the nodes; with DP attention the data-parallel groups share the
    tensor-parallel ranks."""
    return _local_ranks(banner.number, banner.get("enable_dp_attention", False) is True)


def _ranks_by_http(fields):
    def number(name, default):
        value = fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

    return _local_ranks(number, fields.get("enable_dp_attention") is True)


def _local_ranks(number, dp_attention):
    ranks = number("tp_size", 1) * number("pp_size", 1)
    if not dp_attention:
        ranks *= number("dp_size", 1)
    return max(1, ranks // number("nnodes", 1))


def classes_seen(facts):
    """The classes of all models that were loaded as drafts."""
    found = set()
    for rank in facts.ranks.values():
        found.update(load.model_class for load in rank.loads[1:] if load.model_class)
        found.update(load.model_class for load in rank.loads[:1] if is_draft_class(load.model_class))
    return found


def only_targets_seen(case):
    """Whether weights were seen, of targets only, in a log that shows no sign of missing lines."""
    facts = case.facts
    if facts.suppressed or case.gap or not facts.ranks:
        return False
    loads = [rank.loads for rank in facts.ranks.values()]
    return all(len(models) == 1 and models[0].model_class for models in loads) and not classes_seen(facts)


def pools_follow_drafts(case):
    """Whether every local rank has made the memory of its draft model too: all that a follower node ever shows."""
    pools = [count for count in case.facts.pooled_ranks.values() if count >= 2]
    return len(pools) >= (local_ranks(case.facts.banner) if case.facts.banner else 1)


def _expected(case):
    expectations = case.expectations
    classes = expectations.draft_model_class
    return {
        "class": None if classes is None else classes[0] if len(classes) == 1 else list(classes),
        "ranks": _known_ranks(case),
        "memory_gb": expectations.draft_memory_gb,
    }


def _observed(drafts):
    loads = [load for rank_loads in drafts.values() for load in rank_loads]
    classes = sorted({load.model_class for load in loads})
    memory = [_memory_of(rank_loads) for rank_loads in drafts.values()]
    return {
        "class": classes[0] if len(classes) == 1 else classes or None,
        "ranks": len(drafts),
        "memory_gb": memory,
    }


def _drafts_by_rank(case):
    """Rank to its draft loads of an accepted class."""
    found = {}
    for key, rank in case.facts.ranks.items():
        named = _tells_ranks_apart(case, key)
        drafts = [load for place, load in enumerate(rank.loads) if _is_accepted(case, load, named and place > 0)]
        if drafts:
            found[key] = drafts
    untagged = found.get("")
    return _spread(case, untagged) if untagged and len(found) == 1 else found


def _spread(case, drafts):
    """Loads of several ranks in a log that names neither rank nor process: as many ranks as there were targets."""
    targets = len(case.facts.ranks[""].loads) - len(drafts)
    if targets < 2:
        return {"": drafts}
    return {"unnamed rank %d" % number: [draft] for number, draft in enumerate(drafts[:targets])}


def _tells_ranks_apart(case, key):
    """Whether the loads under ``key`` are those of one rank, so that their order says which is the target's."""
    return key != "" or expected_ranks(case) == 1


def _is_accepted(case, load, after_target):
    """``after_target``: the rank has loaded its target model before."""
    classes = case.expectations.draft_model_class
    if classes is None:
        return is_draft_class(load.model_class) or after_target and bool(load.model_class)
    return load.model_class in classes and (after_target or is_draft_class(load.model_class))


def _other_drafts(case):
    """Rank to its draft loads of classes that are not accepted, for ranks that have no accepted one."""
    found = {}
    if case.expectations.draft_model_class is None:
        return found
    for key, rank in case.facts.ranks.items():
        drafts = [load for load in rank.loads[1:] if load.model_class and _tells_ranks_apart(case, key)]
        if drafts and not any(_is_accepted(case, load, True) for load in rank.loads):
            found[key] = drafts
    return found


def _incomplete(case, drafts, wanted, finding):
    missing = _missing_ranks(case, drafts)
    named = " (%s)" % ", ".join(missing[:MOST_SHOWN]) if missing else ""
    what = "no draft model was loaded" if not drafts else "the draft model is on %d of %d ranks" % (len(drafts), wanted)
    if _runs_without_speculation(case):
        proof = [Evidence.of(case.facts.banner_event, "server_args=…%s…" % case.facts.banner.shown(ALGORITHM))]
        return finding(UNMET, "the server was started without speculation, so it loads no draft model", proof)
    if case.has_come_up and _all_loads_visible(case, missing):
        return finding(UNMET, "%s%s" % (what, ", missing%s" % named if drafts and named else ""))
    seen = "draft models were seen on %d of %d ranks" % (len(drafts), wanted)
    cause = missing_evidence.of_loads(case)
    return finding(NO_EVIDENCE, "%s%s: %s" % (seen, ", missing%s" % named if named else "", cause))


def _runs_without_speculation(case):
    return bool(case.facts.banner) and case.facts.banner.get("speculative_algorithm", "") is None


def _all_loads_visible(case, missing):
    """Whether the log shows what the missing ranks have loaded, and nothing says that lines were lost."""
    facts = case.facts
    if facts.suppressed or case.gap or not facts.ranks:
        return False
    if any(not load.model_class for rank in facts.ranks.values() for load in rank.loads):
        return False
    shown = {_label(key, rank) for key, rank in facts.ranks.items() if rank.loads}
    return all(label in shown for label in missing)


def _missing_ranks(case, drafts):
    """Names of the ranks that show no draft model: those that loaded a target, and those that the arguments promise."""
    ranks = case.facts.ranks
    missing = [_label(key, rank) for key, rank in ranks.items() if key not in drafts and rank.loads]
    tagged = {rank.label for rank in ranks.values()}
    for label in _promised_ranks(case):
        if tagged and label not in tagged and all(name.startswith("TP") and " " not in name for name in tagged):
            missing.append(label)
    return sorted(label for label in missing if label)


def _promised_ranks(case):
    banner = case.facts.banner
    if banner is None or banner.number("tp_size", 1) == 1:
        return []
    local = banner.number("tp_size", 1) // banner.number("nnodes", 1)
    first = local * banner.number("node_rank", 0)
    return ["TP%d" % number for number in range(first, first + min(local, MOST_SHOWN))]


def _label(key, rank):
    return rank.label or ("process %s" % key if key else "")


def _with_memory(case, drafts, finding):
    classes = sorted({load.model_class for loads in drafts.values() for load in loads})
    loaded = "the draft model %s was loaded on %s" % (", ".join(classes), _ranks(len(drafts)))
    asked = case.expectations.draft_memory_gb
    if asked is None:
        return finding(MET, loaded)
    memory = {key: _memory_of(loads) for key, loads in drafts.items()}
    if any(size is None or size < LEAST_MEMORY_GB for size in memory.values()):
        return finding(NO_EVIDENCE, "%s, but with no usable memory figure" % loaded)
    tolerance = case.expectations.draft_memory_tolerance_gb
    wrong = {key: size for key, size in memory.items() if abs(size - asked) > tolerance + 1e-9}
    if not wrong:
        return finding(MET, "%s with %s GB each" % (loaded, asked))
    key, size = next(iter(wrong.items()))
    where = " on %s" % key if key else ""
    return finding(UNMET, "the draft model takes %.2f GB%s, expected are %s ± %s GB" % (size, where, asked, tolerance))


def _memory_of(loads):
    """What all draft models of a rank take together, in GB; None when a line has no figure."""
    sizes = [load.memory_gb for load in loads]
    return None if None in sizes else round(sum(sizes), 2)


def _ranks(count):
    return "1 rank" if count == 1 else "%d ranks" % count
