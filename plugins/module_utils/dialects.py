# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each SGLang release prints and accepts: one table, read by everything that depends on the release.

Read from the released wheels 0.4.6 to 0.5.23 (sglang/srt/server_args.py, sglang/srt/arg_groups/). A row says only what
changed against the row before. A release that the table does not know speaks as the newest row before it.
"""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.llmops.sglang.plugins.module_utils.banner import CALL, DICT

ALGORITHM = "speculative_algorithm"
MAMBA = "mamba_strategy"
OVERLAP = "disable_overlap_schedule"
DRAFT = "draft_model"
MEMORY = "mem_fraction_static"

# How SGLANG_ENABLE_SPEC_V2 is taken.
UNKNOWN_VARIABLE = "unknown"
OFF_BY_DEFAULT = "off by default"
ON_BY_DEFAULT = "on by default"
WITHOUT_EFFECT = "without effect"

# Fewer fields than the smallest complete line has: such a line proves nothing by what is missing in it.
FEWEST_FIELDS = 100


@dataclasses.dataclass(frozen=True)
class Dialect:
    """One release and those after it, up to the next row.

    ``marker`` is a field of the ``server_args=`` line that appeared in this release and stayed. ``fields`` is how many
    that line has. ``discriminating`` names the conditions that come out otherwise on the reference model (a hybrid
    Mamba model with the radix cache on) when the server runs without speculation. ``surcharge_gb`` is what speculation
    takes off the automatic ``mem_fraction_static``, in GiB. ``mamba_default`` is what ``auto``, or no flag, comes to on
    that model.
    """

    since: tuple
    marker: str = ""
    fields: int = 0
    banner_form: str = CALL
    mamba_field: str = ""
    mamba_flag: str = ""
    mamba_strategies: tuple = ()
    mamba_default: str = ""
    spec_v2: str = UNKNOWN_VARIABLE
    overlap_needs_topk_one: bool = False
    surcharge_gb: int = 0
    discriminating: frozenset = frozenset((ALGORITHM, DRAFT))

    @property
    def version(self):
        return text_of(self.since)


def _table(*rows):
    dialects = []
    for changes in rows:
        changes["since"] = release_of(changes["since"])
        changes.setdefault("marker", "")
        dialects.append(dataclasses.replace(dialects[-1], **changes) if dialects else Dialect(**changes))
    return tuple(dialects)


def release_of(version):
    """``"0.5.12.post1"`` to ``(0, 5, 12)``; None for a text that starts with no version."""
    match = re.match(r"\s*v?([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?", str(version or ""))
    return tuple(int(part or 0) for part in match.groups()) if match else None


def text_of(release):
    """``(0, 5, 12)`` to ``"0.5.12"``."""
    return ".".join(str(part) for part in release)


_STRATEGIES = ("auto", "no_buffer", "extra_buffer")

DIALECTS = _table(
    dict(since="0.4.6", marker="mem_fraction_static", fields=122),
    dict(since="0.4.10", marker="custom_weight_loader", fields=180),
    dict(since="0.5.1", marker="moe_runner_backend", fields=199),
    dict(since="0.5.2", marker="speculative_attention_mode", fields=210),
    dict(
        since="0.5.3",
        marker="enable_deterministic_inference",
        fields=238,
        surcharge_gb=2,
        discriminating=frozenset((ALGORITHM, DRAFT, MEMORY)),
    ),
    dict(since="0.5.4", marker="lora_eviction_policy", fields=265, spec_v2=OFF_BY_DEFAULT, overlap_needs_topk_one=True),
    dict(since="0.5.5", marker="rl_on_policy_target", fields=272),
    dict(since="0.5.6", marker="forward_hooks", fields=287),
    dict(
        since="0.5.7",
        marker="enable_multi_layer_eagle",
        fields=312,
        mamba_field="mamba_scheduler_strategy",
        mamba_flag="--mamba-scheduler-strategy",
        mamba_strategies=_STRATEGIES,
        mamba_default="no_buffer",
        discriminating=frozenset((ALGORITHM, MAMBA, OVERLAP, DRAFT, MEMORY)),
    ),
    dict(since="0.5.8", marker="admin_api_key", fields=325),
    dict(since="0.5.9", marker="mamba_backend", fields=328),
    dict(since="0.5.10", marker="default_priority_value", fields=349, surcharge_gb=4),
    dict(since="0.5.11", marker="speculative_adaptive", fields=368, spec_v2=ON_BY_DEFAULT),
    dict(since="0.5.12", marker="detokenizer_worker_num", fields=381),
    dict(since="0.5.13", marker="kv_canary", fields=396, overlap_needs_topk_one=False),
    dict(
        since="0.5.14",
        marker="cuda_graph_config",
        fields=404,
        mamba_field="mamba_radix_cache_strategy",
        mamba_flag="--mamba-radix-cache-strategy",
        mamba_strategies=_STRATEGIES + ("extra_buffer_lazy",),
        mamba_default="extra_buffer",
        spec_v2=WITHOUT_EFFECT,
        surcharge_gb=0,
        discriminating=frozenset((ALGORITHM, DRAFT)),
    ),
    dict(since="0.5.15", marker="bf16_gemm_backend", fields=422),
    dict(since="0.5.16", marker="elastic_ep_scale_timeout", fields=445),
    dict(since="0.5.17", marker="weight_cache_mode", fields=458),
    dict(since="0.5.18", marker="language_model_only", fields=472),
    dict(since="0.5.19", marker="hicache_host_memory_mode", fields=488, banner_form=DICT),
    dict(since="0.5.20", marker="enable_response_store", fields=499),
    dict(since="0.5.21", marker="enable_pd_role_switch", fields=519),
    dict(since="0.5.22", marker="enable_watermark", fields=536),
    dict(since="0.5.23", marker="enable_paged_experts", fields=546),
)
OLDEST, NEWEST = DIALECTS[0], DIALECTS[-1]
MAMBA_FIELDS = ("mamba_scheduler_strategy", "mamba_radix_cache_strategy")

# Target architecture (as config.json names it, up to "For...") to the draft model's class, and the first release that
# derives it (ModelConfig._config_draft_model, sglang/srt/configs/model_config.py).
DRAFT_CLASSES = (
    ("DeepseekV4", "DeepseekV4ForCausalLMNextN", "0.5.12"),
    ("DeepseekV", "DeepseekV3ForCausalLMNextN", "0.4.6"),
    ("GlmMoeDsa", "GlmMoeDsaForCausalLMNextN", "0.5.16"),
    ("Glm4MoeLite", "Glm4MoeLiteForCausalLMNextN", "0.5.16"),
    ("Glm4Moe", "Glm4MoeForCausalLMNextN", "0.4.10"),
    ("Glm5Next", "Glm5NextForConditionalGenerationNextN", "0.5.20"),
    ("GlmOcr", "GlmOcrForConditionalGenerationNextN", "0.5.9"),
    ("LongcatFlash", "LongcatFlashForCausalLMNextN", "0.5.2"),
    ("MiMoV2", "MiMoV2MTP", "0.5.7"),
    ("MiMo", "MiMoMTP", "0.4.10"),
    ("Step3p", "Step3p5MTP", "0.5.9"),
    ("Inkling", "InklingForConditionalGenerationMTP", "0.5.16"),
    ("GigaChat35", "GigaChat35ForCausalLMNextN", "0.5.16"),
    ("BailingMoe", "BailingMoeForCausalLMNextN", "0.5.3"),
    ("Ernie4_5_Moe", "Ernie4_5_MoeForCausalLMMTP", "0.5.1"),
    ("Qwen3Next", "Qwen3NextForCausalLMMTP", "0.5.2"),
    ("Qwen3Moe", "Qwen3MoeForCausalLMMTP", "0.5.16"),
    ("Qwen3_5", "Qwen3_5ForCausalLMMTP", "0.5.9"),
    ("InternS2", "Qwen3_5ForCausalLMMTP", "0.5.9"),
    ("Qwen4Exp", "Qwen4ExpForCausalLMMTP", "0.5.20"),
    ("ExaoneMoE", "ExaoneMoEForCausalLMMTP", "0.5.9"),
    ("NemotronH", "NemotronHForCausalLMMTP", "0.5.8"),
    ("HYV3", "HYV3ForCausalLMNextN", "0.5.12"),
    ("HYV4", "HYV4ForCausalLMNextN", "0.5.20"),
)
DRAFT_CLASS_NAME = re.compile(r"MTP|NextN|Eagle|DFlash|DSpark|Assistant|Draft", re.IGNORECASE)
# These load a draft model of its own beside the target.
DRAFT_MODEL_ALGORITHMS = ("EAGLE", "EAGLE3", "STANDALONE", "FROZEN_KV_MTP", "DFLASH", "DSPARK")


def dialect_of(version):
    """The row for a version; the newest for a text that is no version, the oldest for what came before the table."""
    release = release_of(version)
    if release is None:
        return NEWEST
    return next((row for row in reversed(DIALECTS) if row.since <= release), OLDEST)


def mamba_strategy_flag(version):
    """The flag that sets the Mamba strategy, or None when that release has none (before 0.5.7)."""
    return dialect_of(version).mamba_flag or None


def spec_v2_environment(version):
    """The environment with which that release runs the overlap schedule together with speculation."""
    return {"SGLANG_ENABLE_SPEC_V2": "1"} if dialect_of(version).spec_v2 == OFF_BY_DEFAULT else {}


def resolved_algorithm(asked):
    """What the server prints for ``--speculative-algorithm``: upper case, and EAGLE for NEXTN in every release.

    With a Gemma 4 assistant as draft NEXTN becomes FROZEN_KV_MTP instead (0.5.12 and later).
    """
    if asked in (None, ""):
        return None
    name = str(asked).upper()
    return "EAGLE" if name == "NEXTN" else name


def draft_class(target_architecture, version=None):
    """The class of the MTP draft model for a target architecture, or None when that release derives none."""
    release = release_of(version) or NEWEST.since
    for prefix, model_class, since in DRAFT_CLASSES:
        if target_architecture.startswith(prefix):
            return model_class if release_of(since) <= release else None
    return None


def is_draft_class(model_class):
    """Whether the name of a model's class alone tells that it is a draft model. STANDALONE drafts have no such name."""
    return bool(DRAFT_CLASS_NAME.search(model_class))


def range_of(fields):
    """Which releases print these fields, as ``(oldest row, newest row, how)``.

    :arg fields: a :class:`banner.Banner`. Both rows are the same when the line tells the release exactly. The newest
        row stands for later releases too.
    """
    if len(fields.raw) >= FEWEST_FIELDS and fields.complete:
        row = next((row for row in reversed(DIALECTS) if row.marker in fields), OLDEST)
        return row, row, "the %d fields of the server_args line" % len(fields.raw)
    rows = [row for row in DIALECTS if row.banner_form == fields.form]
    printed = [name for name in MAMBA_FIELDS if name in fields]
    if printed:
        rows = [row for row in rows if row.mamba_field in printed] or rows
    newest_marker = max((row.since for row in rows[1:] if row.marker in fields), default=rows[0].since)
    rows = [row for row in rows if row.since >= newest_marker]
    return rows[0], rows[-1], "the shape of the server_args line"
