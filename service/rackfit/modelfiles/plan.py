"""A model as a file describes it, layer by layer, and the architecture that follows: groups, parameters, cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rackfit.errors import UnsupportedError
from rackfit.memory.domain import LayerGroup, Model
from rackfit.memory.roles import attention_roles, feed_forward_roles, layer_roles, non_layer_roles

WINDOWED = ("sliding", "chunked")


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: how it mixes tokens, and its feed-forward part."""

    attention: str
    """gqa | sliding | chunked | mla | none."""
    n_heads: int | None = None
    n_kv_heads: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    window: int | None = None
    owns_cache: bool = True
    index_dim: int = 0
    index_n_heads: int = 0
    d_ff: int | None = None
    n_experts: int | None = None
    n_experts_active: int | None = None
    moe_d_ff: int | None = None
    shared_d_ff: int | None = None
    params: int | None = None
    """Parameters as the file's tensors count them; None: they follow from the shape."""


@dataclass(frozen=True)
class Plan:
    """Everything that a file says of a model."""

    name: str
    d_model: int
    vocab_size: int
    tied: bool
    gated: bool
    layers: tuple[Layer, ...]
    max_context: int | None = None
    attention_bias: str = "no"
    qk_norm: str = "no"
    norm_rows: int = 2
    """Vectors of d_model per layer: its norms."""
    ffn_bias: bool = False
    position_rows: int = 0
    """Rows of a learned table of positions."""
    q_lora_rank: int | None = None
    kv_lora_rank: int | None = None
    qk_nope_head_dim: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None
    per_layer_embedding_dim: int | None = None
    non_layer_params: int | None = None
    """Parameters outside the layers as the file's tensors count them."""


def model_of(plan: Plan) -> Model:
    """Return the architecture of a plan: equal layers grouped, parameters by MEMORY_MODEL section 1.

    Raises:
        UnsupportedError: the shape needs more parameters than the tensors of the file hold.
    """
    groups = tuple(_groups(plan))
    model = _bare(plan, groups)
    groups = tuple(
        group if group.params else replace(group, params=_layer_params(plan, model, group)) for group in groups
    )
    outer = plan.non_layer_params or _outer_params(plan)
    text = outer + sum(group.count * group.params for group in groups)
    idle = sum(group.count * _idle_params(model, group) for group in groups)
    whole = replace(
        model, groups=groups, non_layer_params=outer, params_text=text, params_total=text, params_active=text - idle
    )
    try:
        for group in groups:
            layer_roles(whole, group)
        non_layer_roles(whole)
    except ValueError as error:
        raise UnsupportedError(f"{plan.name}: its dimensions and its tensors disagree ({error})") from None
    return whole


def _groups(plan: Plan) -> Iterator[LayerGroup]:
    """Yield a group for each distinct layer, with the positions that have it, in the order of their first."""
    places: dict[Layer, list[int]] = {}
    for position, layer in enumerate(plan.layers):
        places.setdefault(layer, []).append(position)
    for layer, indices in places.items():
        elements = _elements(plan, layer)
        windowed = layer.attention in WINDOWED
        yield LayerGroup(
            count=len(indices), indices=tuple(indices), attention=layer.attention, n_heads=layer.n_heads,
            n_kv_heads=layer.n_kv_heads, d_k=layer.d_k, d_v=layer.d_v, window=layer.window,
            owns_cache=layer.owns_cache, index_dim=layer.index_dim, compress_ratio=None,
            ffn="moe" if layer.n_experts else "dense" if layer.d_ff else "none", d_ff=layer.d_ff,
            n_experts=layer.n_experts, n_experts_active=layer.n_experts_active, moe_d_ff=layer.moe_d_ff,
            shared_d_ff=layer.shared_d_ff, state_elems=0, conv_elems=0,
            kv_full_elems=0 if windowed else elements, kv_windowed_elems=elements if windowed else 0,
            params=layer.params or 0, index_n_heads=layer.index_n_heads,
        )  # fmt: skip


def _elements(plan: Plan, layer: Layer) -> int:
    """Return the values that one layer caches per token (MEMORY_MODEL section 4)."""
    if layer.attention == "none" or not layer.owns_cache:
        return 0
    if layer.attention == "mla":
        return (plan.kv_lora_rank or 0) + (plan.qk_rope_head_dim or 0)
    return (layer.n_kv_heads or 0) * ((layer.d_k or 0) + (layer.d_v or 0))


def _bare(plan: Plan, groups: tuple[LayerGroup, ...]) -> Model:
    return Model(
        model_id=f"file/{plan.name.casefold()}", name=plan.name, attention_kind=_kind(groups), d_model=plan.d_model,
        vocab_size=plan.vocab_size, tied_embeddings=plan.tied, gated_ffn=plan.gated, groups=groups,
        non_layer_params=0, params_text=0, params_total=0, params_active=0, towers=(), mtp_params=0,
        max_context=plan.max_context, q_lora_rank=plan.q_lora_rank, kv_lora_rank=plan.kv_lora_rank,
        qk_nope_head_dim=plan.qk_nope_head_dim, qk_rope_head_dim=plan.qk_rope_head_dim, v_head_dim=plan.v_head_dim,
        attention_bias=plan.attention_bias, qk_norm=plan.qk_norm, native_precision=None,
        per_layer_embedding_dim=plan.per_layer_embedding_dim,
        per_layer_embedding_rows=plan.vocab_size if plan.per_layer_embedding_dim else None,
    )  # fmt: skip


def _kind(groups: tuple[LayerGroup, ...]) -> str:
    kinds = {group.attention for group in groups}
    return "mla" if "mla" in kinds else "hybrid-swa" if kinds & set(WINDOWED) else "gqa"


def _layer_params(plan: Plan, model: Model, group: LayerGroup) -> int:
    """Return the parameters of one layer: projections, feed-forward part, norms and biases."""
    matrices = sum(attention_roles(model, group).values()) + sum(feed_forward_roles(model, group).values())
    small = plan.norm_rows * plan.d_model
    if group.attention not in ("none", "mla"):
        small += 2 * (group.d_k or 0) if plan.qk_norm == "head" else 0
        small += plan.d_model if plan.attention_bias == "qkv+o" else 0
    if plan.ffn_bias and group.d_ff:
        small += group.d_ff + plan.d_model
    return matrices + small


def _outer_params(plan: Plan) -> int:
    """Return embedding, head unless it is tied, final norm and table of positions."""
    tables = plan.vocab_size * plan.d_model * (1 if plan.tied else 2)
    return tables + plan.d_model * (1 + plan.position_rows)


def _idle_params(model: Model, group: LayerGroup) -> int:
    """Return the parameters of the routed experts that one token does not visit."""
    if not group.n_experts:
        return 0
    experts = feed_forward_roles(model, group)["experts"]
    return experts - experts * (group.n_experts_active or 0) // group.n_experts
