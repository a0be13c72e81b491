"""Activations kept for the backward pass, per layer and device.

Two accounts: the published formulas for the plain GPT block (Korthikanti et al., arXiv 2205.05198; "34" holds for
4h blocks with dropout), and a count of what each operation saves, which also knows grouped heads, gated and routed
feed-forward parts, latent attention and frozen weights.
"""

from __future__ import annotations

from rackfit.memory.domain import LayerGroup, Model
from rackfit.memory.training.domain import Adapter, Parallel, Rules
from rackfit.memory.training.lora import matrix_shapes

SCORE_BYTES = 5.0
"""Bytes per score of attention without a fused kernel: softmax output 2, its dropout's output 2, mask 1."""
SCORE_BYTES_AUTOCAST = 11.0
"""The same where 32-bit weights are cast for each operation: the softmax runs in 32 bits, so that its output and its
dropout's are 4 each, the mask 1, and the values are weighted by a 16-bit copy (torch, autocast operation reference)."""
SCORE_WORK = 8.0
"""Bytes per score while the backward pass goes through attention without a fused kernel: the gradients of the softmax's
output and input, fp32 each, beside what is kept."""

MIXER_TENSORS = 1.5
"""16-bit tensors kept per output of a mixer's projections: itself, and half as much after the convolution."""
LAYER_NORM_KEPT = 4.0
"""Bytes per unit of width of torch's layer norm: 16-bit input and output. Plain blocks use it, gated ones RMS norms."""


def score_ratio(heads: int, sequence: int, hidden: int) -> float:
    """Return 5as/h: score bytes of a GPT block relative to hidden bytes.

    >>> score_ratio(96, 2048, 12288)
    80.0
    """
    return SCORE_BYTES * heads * sequence / hidden


def gpt_layer_bytes(
    sequence: int, batch: int, hidden: int, heads: int, *, tp: int = 1, sequence_parallel: bool = False,
    recompute: str = "none", flash: bool = False,
) -> float:  # fmt: skip
    """Return the activation bytes of one GPT block on one device (Korthikanti et al., table 2), exactly.

    sbh(34 + 5as/h); TP: sbh(10 + 24/t + 5as/ht); with sequence parallelism sbh/t(34 + 5as/h); selective recompute and
    fused attention drop the score term; full recompute keeps 2sbh (over t with sequence parallelism).
    """
    size = float(sequence * batch * hidden)
    if recompute == "full":
        return 2 * size / (tp if sequence_parallel else 1)
    scores = 0.0 if flash or recompute == "selective" else score_ratio(heads, sequence, hidden) / tp
    plain = 34 / tp if sequence_parallel else 10 + 24 / tp
    return size * (plain + scores)


def attention_kept(model: Model, group: LayerGroup, rules: Rules) -> float:
    """Return bytes per token that fused attention keeps: queries, keys, values and output at 16 bits.

    A mixer (linear attention, state space) keeps its projections' outputs, about twice its parameters over the width.
    """
    heads, kv_heads, d_k, d_v = group.n_heads or 0, group.n_kv_heads or 0, group.d_k or 0, group.d_v or 0
    if group.attention == "mla":
        latent = (model.q_lora_rank or 0) + (model.kv_lora_rank or 0)
        return 2.0 * (heads * (2 * d_k + 2 * d_v) + 2 * latent)
    if not heads or group.attention == "none":
        return 0.0
    shared = heads if rules.expanded_kv else kv_heads
    values = heads * d_k + shared * (d_k + d_v)
    extra = values if rules.fused_qkv_view else 0
    gate = heads * d_v if group.output_gate else 0
    return 2.0 * (values + heads * d_v + extra - (kv_heads * d_v if extra else 0) + 2 * gate)


def mixer_kept(model: Model, group: LayerGroup) -> float:
    """Return bytes per token of a layer's mixer: outputs of its projections before and after the gate, 16 bits."""
    if not (group.state_elems or group.conv_elems):
        return 0.0
    experts = 3 * (model.moe_latent_dim or model.d_model) * (group.moe_d_ff or 0) * (group.n_experts or 0)
    dense = 3 * model.d_model * ((group.d_ff or 0) + (group.shared_d_ff or 0))
    return 2.0 * MIXER_TENSORS * max(group.params - experts - dense, 0) / model.d_model


def ffn_kept(model: Model, group: LayerGroup, tensors: float) -> tuple[float, float]:
    """Return bytes per token kept by the dense and by the routed feed-forward part.

    `tensors` is the number of 16-bit tensors of the FFN width that stay: of a gated block gate, up, activation and
    product (4); a plain block has half as many (input and output of the activation). Routed experts keep the same per
    token and expert, the dispatched copy of the hidden state and the outputs that are weighted.
    """
    factor = tensors if model.gated_ffn else tensors / 2
    dense = 2.0 * factor * (group.d_ff or 0)
    shared = 2.0 * factor * (group.shared_d_ff or 0)
    active = group.n_experts_active or 0 if group.n_experts else 0
    width = model.moe_latent_dim or model.d_model
    routed = active * (2.0 * factor * (group.moe_d_ff or 0) + 4.0 * width)
    return dense + shared, routed


def layer_kept(
    model: Model, group: LayerGroup, rules: Rules, adapter: Adapter | None, drops: frozenset[str] = frozenset()
) -> tuple[float, float, float]:
    """Return bytes per token of one layer without recompute: (hidden-width part, sharded part, routed part).

    The first is replicated under tensor parallelism unless the sequence is divided, the second divides by TP, the third
    follows the experts.
    """
    d, targets = float(model.d_model), adapter.targets if adapter else frozenset()
    has_ffn = bool(group.d_ff or group.n_experts)
    has_mixer = bool(group.state_elems or group.conv_elems)
    kept = rules.norm_kept if model.gated_ffn else min(rules.norm_kept, LAYER_NORM_KEPT)
    norms = int(has_ffn) + int(group.attention != "none" or has_mixer)
    if adapter is None:
        tensors = rules.gated_tensors - (1.0 if "act" in drops else 0.0)
        dense, routed = ffn_kept(model, group, tensors)
        if "moe" in drops and group.n_experts:
            dense, routed = 0.0, 0.0
        if "mlp" in drops and not group.n_experts:
            dense = 0.0
        wide = norms * (kept / 2 if "norm" in drops else kept) * d
        inner = attention_kept(model, group, rules) + mixer_kept(model, group) + dense
        if rules.fp8_inputs:
            narrow = narrowed(group, dense > 0, routed > 0)
            wide, inner, routed = wide - norms * d, inner - narrow[0], routed - narrow[1]
        return wide * rules.kept_share, inner * rules.kept_share, routed * rules.kept_share
    return frozen_kept(model, group, rules, adapter, norms, targets)


def narrowed(group: LayerGroup, dense: bool, routed: bool) -> tuple[float, float]:
    """Return bytes per token that 8-bit inputs of products save beside those of norms: (one device's, experts')."""
    inner = float((group.n_heads or 0) * (group.d_v or 0))
    inner += (group.d_ff or 0) + (group.shared_d_ff or 0) if dense else 0
    return inner, float((group.n_experts_active or 0) * (group.moe_d_ff or 0)) if routed else 0.0


def frozen_kept(
    model: Model, group: LayerGroup, rules: Rules, adapter: Adapter, norms: int, targets: frozenset[str]
) -> tuple[float, float, float]:
    """Return bytes per token of one layer whose weights are frozen.

    A frozen product needs no input, a frozen norm keeps its widened input only. Adapted matrices keep the input of the
    down projection (with dropout: the dropped copy and its mask).
    """
    d = float(model.d_model)
    width = 4.0 if adapter.state.weights == 4 else 2.0
    copy = width + 1.0 if adapter.dropout else width if width == 4 else 2.0
    inputs = {name: shape[0] for name, shape in matrix_shapes(model, group).items()}
    adapted = {name: wide for name, wide in inputs.items() if name in targets}
    copies = copy * sum(adapted.values() if adapter.dropout else _distinct(adapted))
    saved = 2.0 * sum(_distinct(inputs)) if adapter.saves_inputs else 0.0
    kept_tensors = 3.0 if rules.gated_tensors >= 4 else 2.0
    dense, routed = ffn_kept(model, group, kept_tensors if model.gated_ffn else 2.0)
    inner = attention_kept(model, group, rules) + mixer_kept(model, group) + dense
    norm = rules.norm_kept if adapter.saves_outputs else rules.norm_frozen
    if not model.gated_ffn:
        norm = min(norm, LAYER_NORM_KEPT / 2)
    saved += 2.0 * sum(shape[1] for shape in matrix_shapes(model, group).values()) if adapter.saves_outputs else 0.0
    wide = norms * norm * d + copies + saved
    return wide * rules.kept_share, inner * rules.kept_share, routed * rules.kept_share


def _distinct(inputs: dict[str, float]) -> list[float]:
    """Return the widths of distinct inputs: q, k and v share one where it is the same, gate and up another."""
    first = {"k": "q", "v": "q", "up": "gate"}
    return [width for _, width in dict.fromkeys((first.get(name, name), width) for name, width in inputs.items())]


def scores_kept(group: LayerGroup, sequence: int, autocast: bool = False) -> float:
    """Return bytes per token of attention scores without a fused kernel: 5 x heads x sequence, 11 under autocast."""
    each = SCORE_BYTES_AUTOCAST if autocast else SCORE_BYTES
    return each * (group.n_heads or 0) * sequence if group.attention != "none" else 0.0


def scores_work(group: LayerGroup, sequence: int) -> float:
    """Return bytes per token of the gradients of attention scores without a fused kernel, one layer at a time."""
    return SCORE_WORK * (group.n_heads or 0) * sequence if group.attention != "none" else 0.0


def selective_op_kept(model: Model, group: LayerGroup) -> float:
    """Return bytes per token of per-operation recompute: every other matrix product, attention output, layer input.

    torchtitan's policy (torchtitan/distributed/activation_checkpoint.py) saves attention and collective outputs and of
    the matrix products the first, third, ...: q, v, gate and down of a gated block; grouped products of experts are not
    among them.
    """
    d = float(model.d_model)
    heads, kv_heads, d_k, d_v = group.n_heads or 0, group.n_kv_heads or 0, group.d_k or 0, group.d_v or 0
    products = heads * d_k + kv_heads * d_v + (group.d_ff or 0) + (group.shared_d_ff or 0) + d
    return 2.0 * (d + heads * d_v + products)


def checkpoint_kept(model: Model) -> float:
    """Return bytes per token of full recompute: the layer's 16-bit input (2sbh)."""
    return 2.0 * model.d_model


def divided(parts: tuple[float, float, float], parallel: Parallel) -> float:
    """Return bytes per token on one device: hidden-width part over TP with sequence parallelism, the rest over TP."""
    wide, inner, routed = parts
    over = parallel.tp if parallel.sequence_parallel else 1
    experts = parallel.tp if parallel.sequence_parallel or parallel.ep == 1 else 1
    return wide / over + inner / parallel.tp + routed / experts


def in_flight(stage: int, parallel: Parallel) -> int:
    """Return the micro-batches that stage i (from 0) of a 1F1B pipeline keeps: stages left, at most all of them."""
    return min(parallel.pp - stage, parallel.micro_batches)


def backward_work(model: Model, group: LayerGroup) -> float:
    """Return bytes per token of gradients alive inside one layer beside what it keeps: widest part and hidden state.

    Further gradients take the place of tensors that are done with.
    """
    routed = (group.n_experts_active or 0) * (group.moe_d_ff or 0) + (group.shared_d_ff or 0)
    return 2.0 * (max(group.d_ff or 0, routed) + model.d_model)
