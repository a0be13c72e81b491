"""Bytes of weights: whole, and on the device of each pipeline stage.

A precision is a layout: the bits of a parameter depend on its role (MEMORY_MODEL section 2). Sharding depends
on the role as well (section 3): column- and row-parallel matrices divide by TP, key and value projections stop
dividing at the number of KV heads, routers, norms and MLA down-projections are whole on every rank, experts
divide over EP ranks.
"""

from __future__ import annotations

from dataclasses import replace

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, Layout, Precision
from rackfit.memory.elementwise import ceil_div
from rackfit.memory.gguf import gguf_role_bits
from rackfit.memory.stages import stage_counts
from rackfit.memory.versions import version_key

GGUF_MIX = "ggufmix_"
"""Start of the ids of llama.cpp file types, which mix types by tensor."""
ROTARY_BYTES = 2
REPLICATED = frozenset({"router", "norms", "attention_mla_down", "indexer", "other"})
"""Roles that every tensor-parallel rank holds whole (vLLM: ReplicatedLinear and norm modules)."""


def averaged(precision_id: str, bits: float) -> Precision:
    """Return the layout of an ExLlama file of so many bits per weight.

    The bits are the average over the layers' matrices; the head has 6 by default, embeddings and norms stay 16-bit
    (exllamav2, convert.md: `-b`, `-hb`).
    """
    wide = frozenset({"embedding", "norms", "router", "vision", "other"})
    return Precision(precision_id, "exl", bits, 16.0, wide, None, (("head", 6.0),))


def fitted(anatomy: Anatomy, precision: Precision) -> Precision:
    """Return the layout as it comes out for one model: a GGUF mix gives each role the bits that its tensors get."""
    if not precision.precision_id.startswith(GGUF_MIX):
        return precision
    file_type = precision.precision_id.removeprefix(GGUF_MIX)
    if file_type not in anatomy.mixes:
        anatomy.mixes[file_type] = tuple(gguf_role_bits(anatomy.model, file_type).items())
    return replace(precision, role_bits=anatomy.mixes[file_type])


def role_bits(precision: Precision, role: str) -> float:
    """Return the effective bits per weight that a role has in a precision."""
    for name, bits in precision.role_bits:
        if name == role:
            return bits
    return precision.high_bits if role in precision.high_roles else precision.bits


def tensor_share(role: str, layout: Layout, kv_heads: int | None, experts: int | None) -> float:
    """Return the part of a role's parameters that one tensor-parallel rank holds (0 to 1].

    Args:
        role: a role of `memory.roles`.
        layout: degrees of parallelism.
        kv_heads: KV heads of the layer, None where it has none.
        experts: routed experts of the layer, None where it has none.
    """
    if role in REPLICATED:
        return 1.0
    if role == "attention_kv" and kv_heads:
        return ceil_div(kv_heads, min(layout.tp, kv_heads)) / kv_heads
    if role == "experts":
        if layout.ep > 1 and experts:
            return ceil_div(experts, layout.ep) / experts
        return 1.0 / layout.tp
    return 1.0 / layout.tp


def layer_bytes(
    anatomy: Anatomy, precision: Precision, layout: Layout, expert_multiple: int | None = None
) -> tuple[float, ...]:
    """Return the bytes of one layer of each group on one device.

    `expert_multiple`: the engine stores the width of experts padded to a multiple of this.
    """
    result = []
    for group, roles in zip(anatomy.model.groups, anatomy.group_roles, strict=True):
        bits = 0.0
        for role, count in roles.items():
            share = tensor_share(role, layout, group.n_kv_heads, group.n_experts)
            if role == "experts" and expert_multiple and group.moe_d_ff:
                width = group.moe_d_ff // (layout.tp if layout.ep == 1 else 1)
                share *= ceil_div(width, expert_multiple) * expert_multiple / width
            bits += count * share * role_bits(precision, role)
        result.append(bits / 8)
    return tuple(result)


def outer_bytes(anatomy: Anatomy, precision: Precision, layout: Layout) -> tuple[float, float, float]:
    """Return bytes per device of (first-stage embeddings, last-stage head and norm, towers).

    Vocab-parallel embedding and head divide by TP. A tied head needs the embedding on the last stage too, so with
    more than one stage it is held twice.
    """
    roles = anatomy.outer_roles
    share = 1.0 / layout.tp
    embedding = roles.get("embedding", 0) * role_bits(precision, "embedding") / 8 * share
    tables = roles.get("per_layer_embedding", 0) * role_bits(precision, "per_layer_embedding") / 8 * share
    head = roles.get("head", 0) * role_bits(precision, "head") / 8 * share
    if anatomy.model.tied_embeddings and layout.pp > 1:
        head = embedding
    rest = sum(roles.get(name, 0) * role_bits(precision, name) / 8 for name in ("norms", "other"))
    tower = anatomy.tower_params * role_bits(precision, "vision") / 8 * share
    return embedding + tables, head + rest, tower


def table_bytes(anatomy: Anatomy, precision: Precision) -> float:
    """Return the bytes of embeddings per layer, which a tied head does not share."""
    rows = anatomy.outer_roles.get("per_layer_embedding", 0)
    return rows * role_bits(precision, "per_layer_embedding") / 8


def stage_weights(
    anatomy: Anatomy, precision: Precision, layout: Layout, expert_multiple: int | None = None
) -> tuple[float, ...]:
    """Return the weight bytes on one device of each pipeline stage, first to last."""
    per_layer = layer_bytes(anatomy, precision, layout, expert_multiple)
    first, last, tower = outer_bytes(anatomy, precision, layout)
    counts = stage_counts(anatomy.layer_order, len(per_layer), layout.pp, layout.head_slot)
    loads = [sum(n * size for n, size in zip(stage, per_layer, strict=True)) for stage in counts]
    loads[0] += first + tower
    loads[-1] += last
    return tuple(loads)


def weights_bytes(anatomy: Anatomy, precision: Precision) -> int:
    """Return the bytes of all weights on one device: language model and towers, tied embeddings once.

    >>> # 70.55e9 parameters at 16 bits are 141.1e9 bytes
    """
    return round(sum(stage_weights(anatomy, precision, Layout())))


WIDE_PREDICTION = frozenset({"nvfp4", "nvfp4_mixer_in_bf16"})
"""Formats whose maker's tool leaves the prediction layers in 16 bits (Qwen3.8-27B by ModelOpt: with them its 26.4 GB
come out within 0.1 %); experts-only layouts and block FP8 have them in the format of a layer."""


def prediction_bytes(anatomy: Anatomy, precision: Precision) -> float:
    """Return the bytes of multi-token prediction layers in a checkpoint; engines load them on request only.

    One of them is a layer as the last one is, mostly in the same format, with two norms and a projection. Some
    checkpoints hold the embedding and the head once more for it (DeepSeek-V3: 688.6 GB of files for 671 billion
    parameters).
    """
    model = anatomy.model
    if not model.mtp_params:
        return 0.0
    last = anatomy.layer_order[-1]
    rate = layer_bytes(anatomy, precision, Layout())[last] / model.groups[last].params
    if precision.precision_id in WIDE_PREDICTION:
        rate = precision.high_bits / 8
    table = model.vocab_size * model.d_model / 8
    tables = table * (role_bits(precision, "embedding") + role_bits(precision, "head")) if model.mtp_own_tables else 0.0
    return model.mtp_params * rate + tables


def as_loaded(precision: Precision, budget: Budget, compute_capability: str | None) -> Precision:
    """Return the layout in which an engine holds weights on a device: a format without a kernel there is widened.

    SGLang turns DeepSeek-V4's FP4 experts into FP8 on compute capability 8.9 (sglang#40566): twice the bytes.
    """
    found = version_key(compute_capability or "")
    for part in budget.unpacked:
        if found and found < version_key(part.below_compute_capability) and precision.precision_id == part.precision:
            return replace(precision, bits=part.bits)
    return precision


def rotary_table_bytes(anatomy: Anatomy) -> int:
    """Return the table of sines and cosines that vLLM builds with the model, whole on every rank, bytes.

    Positions of the model's own limit x rotated values of a head x 2 B, whatever context is served
    (model_executor/layers/rotary_embedding/base.py). Llama-4-Scout, 10,485,760 positions of 128 values: 2.5 GiB, which
    its load on H100 shows (llm-d planner sweep: 53.12 GiB at TP 4). Hybrid models turn few values or none: left out.
    """
    model = anatomy.model
    if anatomy.keeps_states or not model.max_context:
        return 0
    rotated = model.qk_rope_head_dim or max((group.d_k or 0 for group in model.groups), default=0)
    return model.max_context * rotated * ROTARY_BYTES
