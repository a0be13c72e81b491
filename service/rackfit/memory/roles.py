"""Parameters of a layer, and of what lies outside the layers, split by the role of the tensor.

The role decides two things: how many bits a parameter has in a given precision, and whether tensor parallelism
divides it. The split is exact: the parts add up to the layer's own count, whose source is another one, so a wrong
formula shows as a large remainder. Formulas: MEMORY_MODEL section 1.

Roles of a layer
    attention_qo        query and output projections, output gate, query bias; divide by TP
    attention_kv        key and value projections and their biases; divide by min(TP, KV heads)
    attention_mla_down  MLA query and KV down projections with their norms, KV compressors; whole on every rank
    attention_mla_up    MLA query and KV up projections; divide by TP
    indexer             index projections of sparse attention; whole on every rank
    mixer               linear attention, state space and short convolution; divide by TP
    ffn                 dense feed-forward part; divides by TP
    experts             routed experts; divide over EP ranks, else by TP
    shared_experts      experts that every token visits; divide by TP
    router              router, and the projections to and from a narrow expert width; whole on every rank
    other               per-layer inputs and side paths (Gemma 3n, Gemma 4 E); whole on every rank
    norms               norms, output biases, sinks and the small rest; whole on every rank
"""

from __future__ import annotations

from rackfit.memory.domain import LayerGroup, Model

ROLES = (
    "attention_qo", "attention_kv", "attention_mla_down", "attention_mla_up", "indexer", "mixer",
    "ffn", "experts", "shared_experts", "router", "other", "norms",
)  # fmt: skip
"""Roles of a layer's parameters, in the order in which a layer uses them."""

OUTER_ROLES = ("embedding", "per_layer_embedding", "head", "norms", "other")
"""Roles of the parameters outside the layers."""

PROJECTED = frozenset({"gqa", "sliding", "chunked", "cross"})
"""Attention kinds with query, key, value and output projections."""

OUTER_NORM_WIDTHS = 32
"""Rows of d_model up to which the rest outside the layers is norms and biases; position tables have more."""


def layer_roles(model: Model, group: LayerGroup) -> dict[str, int]:
    """Return the parameters of one layer of a group by role. Zero roles are left out; the sum is `group.params`.

    Raises:
        ValueError: the shape needs more parameters than the layer has.
    """
    roles = attention_roles(model, group) | feed_forward_roles(model, group)
    rest = group.params - sum(roles.values())
    if rest < 0:
        raise ValueError(f"{model.model_id}: a {group.attention} layer of {group.params} parameters lacks {-rest}")
    if group.state_elems or group.conv_elems:
        norms = min(rest, (1 if group.ffn == "none" else 2) * model.d_model)
        roles["mixer"], roles["norms"] = rest - norms, norms
    elif model.per_layer_embedding_dim:
        norms = min(rest, 4 * model.d_model)
        roles["other"], roles["norms"] = rest - norms, norms
    else:
        roles["norms"] = rest
    return {role: roles[role] for role in ROLES if roles.get(role)}


def attention_roles(model: Model, group: LayerGroup) -> dict[str, int]:
    """Return the projections of a layer's attention; empty for layers without, or with a block held elsewhere.

    GQA: q `d*h*dk`, k and v `d*h_kv*(dk + dv)`, o `h*dv*d`. A full-width output gate adds a second `d*h*dv`. One
    projection may serve K and V (Gemma 4 global layers), and a layer that reads another layer's cache has none.
    """
    if group.shared_block or group.attention == "none":
        return {}
    if group.attention == "mla":
        return mla_roles(model, group)
    if group.attention not in PROJECTED:
        return {}
    if model.o_lora_rank:
        return compressed_roles(model, group)
    d, heads, kv_heads = model.d_model, group.n_heads or 0, group.n_kv_heads or 0
    d_k, d_v, bias = group.d_k or 0, group.d_v or 0, model.attention_bias
    query = d * heads * d_k + heads * d_v * d + (d * heads * d_v if group.output_gate else 0)
    key_value = d * kv_heads * (d_k if group.shared_kv_projection else d_k + d_v) if group.owns_cache else 0
    if bias != "no":
        query += heads * d_k
        key_value += kv_heads * d_v + (kv_heads * d_k if bias.startswith("qkv") else 0)
    if group.cross_attention:
        query, key_value = 2 * query, 2 * key_value
    roles = {"attention_qo": query, "attention_kv": key_value}
    if group.index_n_heads:
        roles["indexer"] = indexer_params(model, group)
    return roles


def mla_roles(model: Model, group: LayerGroup) -> dict[str, int]:
    """Return the projections of multi-head latent attention (DeepSeek-V2 paper, section 2.1).

    q down `d*q_lora` with its norm and up `q_lora*h*dk`, or a full `d*h*dk`; KV down `d*(kv_lora + rope)` with its
    norm; KV up `kv_lora*h*(nope + v)`; o `h*v*d`.
    """
    d, heads, d_k, d_v = model.d_model, group.n_heads or 0, group.d_k or 0, group.d_v or 0
    kv_lora, rope = model.kv_lora_rank or 0, model.qk_rope_head_dim or 0
    output = heads * d_v * d * (2 if group.output_gate else 1)
    down = d * (kv_lora + rope) + kv_lora
    up = kv_lora * heads * (d_k - rope + d_v)
    if model.q_lora_rank:
        down += d * model.q_lora_rank + model.q_lora_rank
        up += model.q_lora_rank * heads * d_k
    else:
        output += d * heads * d_k
    roles = {"attention_qo": output, "attention_mla_down": down, "attention_mla_up": up}
    if group.index_n_heads:
        roles["indexer"] = indexer_params(model, group)
    return roles


def indexer_params(model: Model, group: LayerGroup) -> int:
    """Return the index weights of sparse attention: queries, one key, head weights, norms.

    DeepSeek-V3.2 and GLM-5 take index queries from the query latent and weigh the heads; MiniMax-M3 takes them
    from the residual stream and does not.
    """
    d, heads, width = model.d_model, group.index_n_heads, group.index_dim
    if model.q_lora_rank:
        return model.q_lora_rank * heads * width + d * width + d * heads + 2 * width
    return d * heads * width + d * width + 2 * width


def compressed_roles(model: Model, group: LayerGroup) -> dict[str, int]:
    """Return the projections of DeepSeek-V4 attention: one shared K=V head, low-rank queries, grouped output.

    q down `d*q_lora`, up `q_lora*h*dk`; KV `d*dk`; output `h*dk*o_lora` in blocks, then `o_groups*o_lora*d`. A
    compressor has value and gate projections, a bias per position and a norm; windows overlap at ratios with an
    index, which doubles the widths. Shape: transformers 5.24.0, models/deepseek_v4.
    """
    d, heads, d_k = model.d_model, group.n_heads or 0, group.d_k or 0
    q_lora, o_lora, ratio = model.q_lora_rank or 0, model.o_lora_rank or 0, group.compress_ratio or 0
    down = d * q_lora + q_lora + d * d_k + d_k
    roles = {
        "attention_qo": heads * d_k * o_lora + (model.o_groups or 0) * o_lora * d,
        "attention_mla_up": q_lora * heads * d_k,
    }
    if ratio:
        overlap = 2 if group.index_n_heads else 1
        down += 2 * d * overlap * d_k + ratio * overlap * d_k + d_k
    if group.index_n_heads:
        width = group.index_dim * ratio
        compressor = 2 * d * 2 * width + ratio * 2 * width + width
        roles["indexer"] = q_lora * group.index_n_heads * width + d * group.index_n_heads + compressor
    return roles | {"attention_mla_down": down}


def feed_forward_roles(model: Model, group: LayerGroup) -> dict[str, int]:
    """Return the feed-forward parameters: 3 matrices when gated, else 2; biases are left to the rest.

    Routed experts may work on a narrower width (`moe_latent_dim`): one projection down and one up per layer.
    """
    if group.shared_block:
        return {}
    d, matrices = model.d_model, 3 if model.gated_ffn else 2
    roles = {"ffn": matrices * d * (group.d_ff or 0)}
    if group.n_experts:
        width = model.moe_latent_dim or d
        roles["experts"] = group.n_experts * matrices * width * (group.moe_d_ff or 0)
        roles["router"] = d * group.n_experts + (2 * d * width if model.moe_latent_dim else 0)
        roles["shared_experts"] = matrices * d * (group.shared_d_ff or 0)
    return roles


def non_layer_roles(model: Model) -> dict[str, int]:
    """Return the parameters outside the layers by role. Zero roles are left out; the sum is `non_layer_params`.

    The head is 0 when tied, and in encoders, which have none. Position tables, blocks shared by several layers and
    projections around the embedding are `other`; what is smaller than `OUTER_NORM_WIDTHS` rows is `norms`.

    Raises:
        ValueError: the tables alone have more parameters.
    """
    table = model.vocab_size * (model.embedding_dim or model.d_model)
    per_layer = (model.per_layer_embedding_rows or 0) * (model.per_layer_embedding_dim or 0) * model.n_layers
    rest = model.non_layer_params - table - per_layer
    head = table if not model.tied_embeddings and rest >= table else 0
    rest -= head
    if rest < 0:
        raise ValueError(f"{model.model_id}: {model.non_layer_params} parameters outside the layers are {-rest} short")
    small = rest <= OUTER_NORM_WIDTHS * model.d_model
    roles = {
        "embedding": table,
        "per_layer_embedding": per_layer,
        "head": head,
        "norms": rest if small else min(rest, 2 * model.d_model),
        "other": 0 if small else rest - min(rest, 2 * model.d_model),
    }
    return {role: roles[role] for role in OUTER_ROLES if roles[role]}
