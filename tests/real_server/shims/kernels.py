# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operators of ``sgl_kernel`` that a greedy CPU run of Qwen3.5 with MTP really calls.

SGLang's wheel for CPUs brings them compiled, for processors with AMX only. These are the same operators in plain
torch: slow, and restricted to ``--speculative-eagle-topk 1``, where a draft is a chain and not a tree. Their names and
the order of their arguments are SGLang's. Those without a result write into tensors that the caller gives.
"""

from __future__ import annotations

# ---------------------------------------------------------------- KV cache bookkeeping
# `slots_of` is the table [request, position] -> KV slot; `requests` are its rows in use.


def assign_req_to_token_pool_cpu(requests, slots_of, starts, ends, new_slots, row_length):
    """Enter new slots in the table, at positions start..end of each request."""
    used = 0
    for request, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist()):
        slots_of[request, start:end] = new_slots[used : used + end - start].to(slots_of.dtype)
        used += end - start


def assign_extend_cache_locs_cpu(requests, slots_of, starts, ends, result, row_length):
    """Read the slots at positions start..end of each request, one request after the other."""
    used = 0
    for request, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist()):
        result[used : used + end - start] = slots_of[request, start:end].to(result.dtype)
        used += end - start


def assign_draft_cache_locs_contiguous_cpu(requests, slots_of, lengths, result, row_length, topk, steps):
    """Read the slots of the next topk * steps positions of each request."""
    width = topk * steps
    for row, (request, length) in enumerate(zip(requests.tolist(), lengths.tolist())):
        result[row * width : (row + 1) * width] = slots_of[request, length : length + width].to(result.dtype)


def fill_accept_out_cache_loc_cpu(accepted, slots, result):
    """Pack the slots of the accepted tokens to the front; -1 in ``accepted`` means none."""
    chosen = accepted.reshape(-1)
    chosen = chosen[chosen >= 0].long()
    result[: len(chosen)] = slots[chosen].to(result.dtype)


def copy_all_layer_kv_cache_cpu(data_pointers, strides, target_slots, source_slots):
    """Move the KV of accepted tokens. In a chain they already lie where they belong."""
    if target_slots.tolist() != source_slots.tolist():
        raise NotImplementedError("moving KV entries: only --speculative-eagle-topk 1 is supported")


# ---------------------------------------------------------------- drafting and verification


def build_tree_kernel_efficient_cpu(
    parents, best, lengths, mask, positions, index, next_token, next_sibling, topk, depth, width, mask_mode
):
    """Describe the draft of each request as a "tree", which at topk 1 is a chain."""
    import torch

    if topk != 1:
        raise NotImplementedError("only --speculative-eagle-topk 1 is supported")
    batch = lengths.shape[0]
    chain = torch.arange(width)
    index.copy_(torch.arange(batch * width).view_as(index))
    following = torch.cat([chain[1:], torch.tensor([-1])])
    next_token.copy_(following.expand(batch, width).reshape(next_token.shape))
    next_sibling.fill_(-1)
    positions.copy_((lengths.long()[:, None] + chain).reshape(positions.shape))
    if mask is not None and mask.numel() == batch * width * width:
        causal = torch.ones(width, width, dtype=torch.bool).tril()
        mask.copy_(causal.expand(batch, width, width).reshape(mask.shape))


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    """Accept drafts for as long as each equals the token that the target model chose at that place."""
    for row in range(candidates.shape[0]):
        drafts = candidates[row].tolist()  # drafts[0] is the last verified token
        wanted = target_predict[row].tolist()  # wanted[i] is the target's token after drafts[i]
        place = retrive_index[row].tolist()  # flat index of each draft in the batch
        correct = 0
        accept_index[row, 0] = place[0]
        while correct + 1 < accept_index.shape[1] and drafts[correct + 1] == wanted[correct]:
            correct += 1
            accept_index[row, correct] = place[correct]
        accept_token_num[row] = correct  # the target's own extra token is not counted
        for position in range(correct + 1):
            predicts[place[position]] = wanted[position]


def fill_bonus_tokens_cpu(accepted_tokens, accepted_lengths, bonus, width):
    """Pick the last accepted token of each request: the next draft starts from it."""
    flat = accepted_tokens.reshape(-1)
    for row, length in enumerate(accepted_lengths.tolist()):
        bonus[row] = flat[width * row + length - 1]


# ---------------------------------------------------------------- arithmetic of a layer


def fused_sigmoid_mul_cpu(values, gate, inplace=True):
    """Close each value as far as its gate says. 0.5.18 takes the result, 0.5.23 looks into the values."""
    return values.mul_(gate.reshape(values.shape).sigmoid())


def fused_qk_gemma_rmsnorm_cpu(query, key, query_weight, key_weight, epsilon, head_size):
    """Normalise queries and keys, head by head."""
    return _norm(query, query_weight, epsilon, head_size), _norm(key, key_weight, epsilon, head_size)


def fused_qk_gemma_rmsnorm_with_gate_cpu(query_and_gate, key, query_weight, key_weight, epsilon, head_size, *_ignored):
    """The same, where each head of the query projection holds the query and, behind it, the output gate."""
    both = query_and_gate.reshape(-1, 2, head_size)
    query = _norm(both[:, 0], query_weight, epsilon, head_size)
    return query, _norm(key, key_weight, epsilon, head_size), both[:, 1].contiguous()


def _norm(rows, weight, epsilon, head_size):
    """RMS norm of this model family: the scale is 1 + weight."""
    import torch

    wide = rows.reshape(-1, head_size).float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return (wide * (1 + weight.float())).to(rows.dtype)


# ---------------------------------------------------------------- installation

CALLED_BY_NAME = (
    assign_req_to_token_pool_cpu,
    assign_extend_cache_locs_cpu,
    assign_draft_cache_locs_contiguous_cpu,
    fill_accept_out_cache_loc_cpu,
    copy_all_layer_kv_cache_cpu,
    build_tree_kernel_efficient_cpu,
    verify_tree_greedy_cpu,
    fill_bonus_tokens_cpu,
)
TORCH_OPERATORS = (
    fused_sigmoid_mul_cpu,
    fused_qk_gemma_rmsnorm_cpu,
    fused_qk_gemma_rmsnorm_with_gate_cpu,
)
# Looked up when the model's file is imported; only linear-attention layers would call them.
NEVER_CALLED = (
    "fused_qkvzba_split_reshape_cat_contiguous_cpu",
    "fused_sigmoid_gating_delta_rule_update_cpu",
    "fused_gdn_gating_cpu",
)


def fill(module):
    """Give the stand-in ``sgl_kernel``, and ``torch.ops.sgl_kernel``, their operators."""
    import torch

    for function in CALLED_BY_NAME:
        setattr(module, function.__name__, function)
    for function in TORCH_OPERATORS:
        setattr(torch.ops.sgl_kernel, function.__name__, function)
    for name in NEVER_CALLED:
        setattr(torch.ops.sgl_kernel, name, _refuse(name))


def _refuse(name):
    def operator(*args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{name}: these checkpoints have no linear-attention layers")

    return operator
