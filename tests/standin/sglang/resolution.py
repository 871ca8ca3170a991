# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the given flags to the fields a release resolves them to, with the lines it logs on the way.

Pure apart from the checkpoint it is handed: every row of the captured banners is a unit test.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping

from sglang.checkpoints import FIVE_STEPS, GEMMA4_DRAFTS, Checkpoint
from sglang.graphs import set_decode_batch_sizes
from sglang.releases import Release

WITHOUT_DRAFT_MODEL = ("NGRAM", "UNO")
EAGLE_FAMILY = "eagle/eagle3/standalone"


class Resolution:
    """``fields`` is the resolved banner; ``say(level, text)`` hears each line when it is logged.

    Raises ValueError or AssertionError with SGLang's words, and CheckpointMissing from ``read_checkpoint``.
    """

    def __init__(
        self,
        given: Mapping[str, object],
        template: Mapping[str, object],
        release: Release,
        environ: Mapping[str, str],
        read_checkpoint: Callable[[str | None], Checkpoint],
        say: Callable[[str, str], None],
    ):
        self.release = release
        self.given = given
        self.fields = {**copy.deepcopy(dict(template)), **given}
        self._say = say
        self.target = read_checkpoint(str(given["model_path"]))
        self._environ = environ
        self._read_checkpoint = read_checkpoint
        self._resolve()

    @property
    def speculative(self) -> bool:
        return self.fields["speculative_algorithm"] is not None

    @property
    def needs_draft_model(self) -> bool:
        return self.speculative and self.fields["speculative_algorithm"] not in WITHOUT_DRAFT_MODEL

    def _resolve(self) -> None:
        self._name_the_model()
        self._allow_allreduce_fusion()
        self._resolve_mamba()
        self._choose_attention_backend()
        self._mourn_spec_v2_switch()
        if self.speculative:
            self._refuse_pipeline()
            self._limit_running_requests()
            self._resolve_algorithm()
            self._resolve_steps()
            self._resolve_overlap()
        self._set_default("mem_fraction_static", self.release.mem_fraction_static(self.speculative))
        set_decode_batch_sizes(self.fields, self.speculative)

    def _note(self, text: str, level: str = "warning") -> None:
        self._say(level, text)

    def _set_default(self, name: str, value: object) -> None:
        self.fields[name] = self.given.get(name, value)

    def _name_the_model(self) -> None:
        self._set_default("tokenizer_path", self.fields["model_path"])
        self._set_default("served_model_name", self.fields["model_path"])
        self._set_default("random_seed", random.randrange(1 << 30))

    def _allow_allreduce_fusion(self) -> None:
        note = self.release.allreduce_fusion_note
        if note and self.fields["tp_size"] > 1 and self.fields["device"] != "cpu":
            self._note(note % self.target.architecture, "info")

    def _choose_attention_backend(self) -> None:
        if "attention_backend" in self.given:
            return
        if self.fields["device"] == "cpu":
            self.fields["attention_backend"] = "torch_native"
            self._note("The current platform does not support Intel AMX, will fallback to torch_native backend.")
            return
        backend = "triton" if (self.fields["speculative_eagle_topk"] or 1) > 1 else "fa3"
        self.fields["attention_backend"] = backend
        self._note(f"Attention backend not specified. Use {backend} backend by default.", "info")

    # mamba radix cache

    def _resolve_mamba(self) -> None:
        if not self.target.is_hybrid_mamba:
            self._resolve_plain_model()
        elif self.release.resolves_mamba_by_itself:
            self._resolve_mamba_by_itself()
        else:
            self._resolve_mamba_as_told()
        if "uses_mamba_radix_cache" in self.fields:
            self.fields["uses_mamba_radix_cache"] = (
                self.target.is_hybrid_mamba and not self.fields["disable_radix_cache"]
            )

    def _resolve_plain_model(self) -> None:
        if not self.release.resolves_mamba_by_itself and self.fields[self.release.mamba_field] == "auto":
            self.fields[self.release.mamba_field] = "no_buffer"

    def _resolve_mamba_by_itself(self) -> None:
        field = self.release.mamba_field
        if self.fields["disable_radix_cache"]:
            return
        if self.fields[field] == "auto":
            wanted = not self.fields["disable_overlap_schedule"] or self.fields["page_size"] > 1
            self.fields[field] = "extra_buffer" if wanted else "no_buffer"
        if self.fields[field] == "no_buffer":
            self.fields["disable_overlap_schedule"] = True

    def _resolve_mamba_as_told(self) -> None:
        field = self.release.mamba_field
        if self.fields[field] == "auto":
            self.fields[field] = "no_buffer"
        radix_cache = not self.fields["disable_radix_cache"]
        if self.fields[field] == "extra_buffer":
            if not radix_cache and self.release.refuses_no_buffer_with_speculation:
                raise ValueError("mamba extra_buffer is not compatible with --disable-radix-cache")
        elif radix_cache and self.speculative:
            self._give_up_radix_cache()
        elif radix_cache and not self.fields["disable_overlap_schedule"]:
            self.fields["disable_overlap_schedule"] = True
            self._note(
                "Disabling overlap schedule since mamba no_buffer is not compatible with overlap schedule, "
                "try to use --disable-radix-cache if overlap schedule is necessary"
            )

    def _give_up_radix_cache(self) -> None:
        architecture = self.target.architecture
        if self.release.refuses_no_buffer_with_speculation:
            raise ValueError(
                f"Speculative decoding for {architecture} is not compatible with radix cache when using "
                "--mamba-scheduler-strategy no_buffer."
                "To use radix cache with speculative decoding, please use "
                "--mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1."
            )
        self.fields["disable_radix_cache"] = True
        self._note(
            f"Disabling radix cache since speculative decoding for {architecture} "
            "is not supported with radix cache yet."
        )

    # speculation

    def _refuse_pipeline(self) -> None:
        if self.fields["pp_size"] > 1:
            raise AssertionError(self.release.pipeline_with_speculation)

    def _limit_running_requests(self) -> None:
        if self.fields["max_running_requests"] is None:
            self.fields["max_running_requests"] = 48
            self._note(
                "Max running requests is reset to 48 for speculative decoding. "
                "You can override this by explicitly setting --max-running-requests."
            )

    def _resolve_algorithm(self) -> None:
        name = str(self.fields["speculative_algorithm"]).upper()
        if name not in self.release.algorithms:
            raise ValueError(f"Unknown speculative algorithm name: {name}")
        draft_path = self.fields["speculative_draft_model_path"]
        if draft_path is None and self.target.carries_draft:
            draft_path = self.fields["speculative_draft_model_path"] = self.target.path
        elif draft_path is not None and self.target.carries_draft:
            self._note("DeepSeek MTP does not require setting speculative_draft_model_path.")
        if draft_path is not None:
            self.fields["speculative_draft_model_revision"] = "main"
        self.fields["speculative_algorithm"] = self._without_alias(name, draft_path)

    def _without_alias(self, name: str, draft_path: str | None) -> str:
        if self.release.opens_draft_config_early and draft_path is not None:
            draft = self._read_checkpoint(draft_path)
            if name in ("NEXTN", "EAGLE") and draft.architecture in GEMMA4_DRAFTS:
                self._note(
                    "Detected Gemma4AssistantForCausalLM draft; "
                    f"promoting --speculative-algorithm {name} to FROZEN_KV_MTP.",
                    "info",
                )
                return "FROZEN_KV_MTP"
        return "EAGLE" if name == "NEXTN" else name

    def _resolve_steps(self) -> None:
        fields = self.fields
        if fields["speculative_num_steps"] is None:
            assert fields["speculative_eagle_topk"] is None and fields["speculative_num_draft_tokens"] is None
            steps, topk, draft_tokens = (5, 4, 8) if self.target.architecture.startswith(FIVE_STEPS) else (3, 1, 4)
            fields["speculative_num_steps"] = steps
            fields["speculative_eagle_topk"] = topk
            fields["speculative_num_draft_tokens"] = draft_tokens
        steps = fields["speculative_num_steps"]
        if fields["speculative_eagle_topk"] == 1 and fields["speculative_num_draft_tokens"] != steps + 1:
            fields["speculative_num_draft_tokens"] = steps + 1
            self._note(
                "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"
            )

    # overlap schedule

    def _resolve_overlap(self) -> None:
        if self.release.overlap_needs_gpu and self.fields["device"] == "cpu":
            self.fields["disable_overlap_schedule"] = True
            self._note("Overlap schedule is not implemented for speculative decoding on CPU.")
        if self.release.has_spec_v1:
            self._choose_between_v1_and_v2()
            return
        if not self._spec_v2_wanted():
            self.fields["disable_overlap_schedule"] = True
        if self.fields["disable_overlap_schedule"]:
            self._note(f"Non-overlap (synchronous) spec v2 is used for {EAGLE_FAMILY} speculative decoding.")
        elif self.release.spec_v2_switch is not None:
            self._note(f"Overlap spec v2 is enabled by default for {EAGLE_FAMILY} speculative decoding.")

    def _choose_between_v1_and_v2(self) -> None:
        why_v1 = self._why_v1()
        self.fields["disable_overlap_schedule"] = why_v1 is not None
        if not self.release.spec_v1_takes_topk:
            self._note(
                "Overlap scheduler is disabled when spec v2 is off or using unsupported speculative algorithm. "
                "You can set env SGLANG_ENABLE_SPEC_V2=True to enable the experimental overlap scheduler. "
                if why_v1
                else "Spec v2 is enabled for eagle/eagle3 speculative decoding and overlap schedule is turned on."
            )
        elif why_v1:
            self._note(f"Spec v1 is used for {EAGLE_FAMILY} speculative decoding because {why_v1}.")
        else:
            self._note(f"Spec v2 is enabled by default for {EAGLE_FAMILY} speculative decoding.")

    def _why_v1(self) -> str | None:
        if not self._spec_v2_wanted():
            return "SGLANG_ENABLE_SPEC_V2=False"
        if self.fields["speculative_eagle_topk"] > 1:
            if not self.release.spec_v1_takes_topk:
                raise ValueError("Spec v2 currently only supports topk = 1 for speculative decoding.")
            return "spec v2 currently only supports topk = 1"
        return "overlap schedule is disabled" if self.fields["disable_overlap_schedule"] else None

    def _spec_v2_wanted(self) -> bool:
        if self.release.spec_v2_switch is None:
            return True
        switch = self._environ.get("SGLANG_ENABLE_SPEC_V2", self.release.spec_v2_switch)
        return switch.lower() in ("1", "true", "yes", "y", "on")

    def _mourn_spec_v2_switch(self) -> None:
        if self.speculative and self.release.spec_v2_switch_is_mourned and "SGLANG_ENABLE_SPEC_V2" in self._environ:
            self._note(
                "SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding always runs the V2 worker. "
                "Use --disable-overlap-schedule to select the non-overlap (synchronous) path."
            )
