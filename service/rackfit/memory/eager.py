"""What eager PyTorch stacks hold beside weights and cache: terms that were found on measured peaks.

Each term is named after its cause as far as that is known; where the cause is not known the name says what it follows.
Constants are fields of the budget records, with their evidence there.
"""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, LayerGroup, Precision
from rackfit.memory.weights import role_bits

HIDDEN_STATES = 4
"""Hidden states alive at the peak of a block: embeddings, residual, its norm, the block's input."""


def prompt_logits(anatomy: Anatomy, budget: Budget, tokens: int, devices: int = 1) -> float:
    """Return the bytes of logits kept for every token of a prompt: 16 bits, their fp32 copy and what follows them.

    Transformers before 4.45 makes both of all positions (2 + 4 bytes; modeling_qwen2.py: lm_head, then .float());
    later versions ask for the last position only, a factor of 0. Where layers lie on several devices, the result is
    moved to the first one: the fp32 copy once more.
    """
    logits = budget.prompt_logit_bytes + (4.0 if devices > 1 and budget.prompt_logit_bytes else 0.0)
    return logits * anatomy.model.vocab_size * tokens


def prompt_pass(anatomy: Anatomy, budget: Budget, tokens: int) -> float:
    """Return the bytes that one block works with while a whole prompt goes through it on one device.

    2 B x tokens x (3 d_ff + 4 d): the activated gate, up and their product beside four hidden states. Peaks of seven
    Qwen2.5 sizes at three lengths agree with it within a hundredth of the peak. Experts run one after another on the
    tokens that they are given.
    """
    model = anatomy.model

    def width(group: LayerGroup) -> float:
        share = (group.n_experts_active or 0) / group.n_experts if group.n_experts else 0.0
        return max(group.d_ff or 0, group.shared_d_ff or 0, share * (group.moe_d_ff or 0))

    widest = max((width(group) for group in model.groups), default=0.0)
    return budget.forward_bytes * tokens * (3 * widest + HIDDEN_STATES * model.d_model)


def score_matrix(anatomy: Anatomy, tokens: int, context: int) -> float:
    """Return the bytes of the attention scores of one layer for which MLX has no fused kernel over a prompt, 16 bits.

    Its kernels are of head widths 64, 80 and 128. Seen: 1.2 copies at width 256 (Qwen3.6 and 3.8 27B, 16K to 128K
    tokens, steps of 256 to 2048; jundot/omlx#1397, ml-explore/mlx-lm#1781), 2.2 of latent attention, whose weighted
    sum is a product of its own (DeepSeek-V3, 4K to 16K; mlx-lm#839).
    """
    copies = {
        group: 2.2 if group.attention == "mla" else 1.2
        for group in anatomy.model.groups
        if group.n_heads and (group.attention == "mla" or group.d_k not in FUSED_WIDTHS)
    }
    return max(
        (
            2.0 * share * (group.n_heads or 0) * tokens * min(context, (group.window or context) + tokens)
            for group, share in copies.items()
        ),
        default=0.0,
    )


FUSED_WIDTHS = (64, 80, 128)


def stepped_work(anatomy: Anatomy, budget: Budget, prompt: int, sequences: int) -> float:
    """Return what MLX works with on a prompt that goes through it in steps.

    mlx-lm up to 0.30 took a prompt that is no longer than a step at once and read the last row of all its logits; a
    longer one left its logits unevaluated, as newer versions always do (mlx_lm/generate.py, generate_step).
    """
    step = min(prompt, budget.tiers[0].batched_tokens)
    block = prompt_pass(anatomy, budget, step * sequences) + score_matrix(anatomy, step * sequences, prompt)
    logits = prompt_logits(anatomy, budget, prompt * sequences) if prompt <= step else 0.0
    return max(block, logits)


def prompt_work(anatomy: Anatomy, budget: Budget, prompt: int, sequences: int, devices: int = 1) -> float:
    """Return what the pass over a prompt needs beside weights and the prompt's cache, summed over devices.

    On each device one block's work; on the last the logits, beside one hidden state, if they are more.
    """
    if budget.family == "mlx-lm":
        return stepped_work(anatomy, budget, prompt, sequences)
    tokens = prompt * sequences
    block = prompt_pass(anatomy, budget, tokens)
    head = prompt_logits(anatomy, budget, tokens, devices) + budget.forward_bytes * anatomy.model.d_model * tokens
    return max(block, head) + (devices - 1) * block


def rotary_tables(anatomy: Anatomy, budget: Budget, positions: int | None) -> float:
    """Return the bytes of the tables of sines and cosines that each layer keeps for all positions, 16 bits each.

    Transformers from 4.36 to 4.44 (Qwen2RotaryEmbedding: cos_cached and sin_cached of max_position_embeddings); later
    versions compute them once per pass. 0 where the positions are not known.
    """
    if not budget.rotary_tables or not positions:
        return 0.0
    return sum(2 * 2.0 * positions * group.count * (group.d_k or 0) for group in anatomy.model.groups)


def dequantised_matrix(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the bytes of the 16-bit copy of the largest matrix that kernels of 4-bit weights make at a time.

    AutoGPTQ's ExLlama kernels set it aside once per device (temp_dq_size: inputs x outputs x 2); bitsandbytes widens
    a matrix for its product (MatMul4Bit, dequantize_4bit) under Transformers.
    """
    buffered = budget.widens_int4_matrix and precision.precision_id.startswith("gptq_int4")
    widened = budget.runtime_id == "transformers" and precision.family == "bnb" and precision.bits < 8
    if not (buffered or widened):
        return 0.0
    widest = max((max(group.d_ff or 0, group.moe_d_ff or 0) for group in anatomy.model.groups), default=0)
    return 2.0 * widest * anatomy.model.d_model


def widened_head(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the change of the peak where the head is quantised too and widened at use, bytes.

    litgpt quantises every linear layer, the head included, and bitsandbytes makes a wide copy of a weight when it is
    multiplied: the head is the largest. Peaks of four models agree with 4 bytes per value within 0.1 GB.
    """
    if not budget.widened_head_bytes or precision.family != "bnb":
        return 0.0
    values = anatomy.model.vocab_size * anatomy.model.d_model
    kept = role_bits(precision, "head") / 8
    return values * (budget.widened_head_bytes - (kept - precision.bits / 8))


def second_tied_head(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the bytes of a tied head that FP8 checkpoints store, and eager stacks load, as a second tensor."""
    return _stored_head(anatomy, precision) if budget.loads_second_head and precision.family == "fp8" else 0.0


def head_while_loading(anatomy: Anatomy, precision: Precision, budget: Budget) -> float:
    """Return the bytes of a tied head that AWQ checkpoints store again and that is dropped once the model is built.

    0 where the version's figures are no peaks since the start (those without the pass over the prompt).
    """
    seen = budget.loads_second_head and budget.forward_bytes and precision.precision_id.startswith("awq_")
    return _stored_head(anatomy, precision) if seen else 0.0


def _stored_head(anatomy: Anatomy, precision: Precision) -> float:
    if not anatomy.model.tied_embeddings:
        return 0.0
    return anatomy.model.vocab_size * anatomy.model.d_model * role_bits(precision, "head") / 8


def cache_surplus(precision: Precision, budget: Budget) -> float:
    """Return the share of the cache that peaks of AWQ models show on top of it.

    An eighth of the cache on four Qwen3 sizes at three lengths each, whose environment has no FlashAttention: keys and
    values of one layer are then copied out to all heads (4 copies of one of 36 layers, 8 of one of 64). Absent from
    16-bit weights, and from AWQ weights in the Qwen2.5 and Qwen2 tables, which ran with FlashAttention.
    """
    return budget.awq_cache_surplus if precision.precision_id.startswith("awq_") else 0.0


def lasting_bytes(anatomy: Anatomy, precision: Precision, budget: Budget, positions: int | None) -> float:
    """Return all that lies beside weights and cache the whole time, bytes."""
    return (
        widened_head(anatomy, precision, budget)
        + second_tied_head(anatomy, precision, budget)
        + rotary_tables(anatomy, budget, positions)
        + dequantised_matrix(anatomy, precision, budget)
    )
