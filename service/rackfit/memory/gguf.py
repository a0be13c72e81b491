"""Bytes of a model as a GGUF file: every tensor with the type that llama.cpp gives it.

The tensors follow from the architecture's layer groups. What a group holds beyond the matrices enumerated here
(biases, norms, mixers of recurrent layers, output gates) is charged too: as 32-bit vectors where it is as small as
vectors are, else as one more matrix of the file's main type. Towers are not in the file (llama.cpp keeps them in a
file of their own).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from rackfit.memory.domain import LayerGroup, Model
from rackfit.memory.gguf_types import BASE, BLOCKS, Traits, block_type, divides, needs_calibration
from rackfit.memory.roles import OUTER_NORM_WIDTHS, PROJECTED

METADATA_BYTES_PER_TOKEN: Final = 60
"""Tokenizer and header: Llama 3's 128256 tokens with their merges and scores take 7.8 MB of a file."""

VECTOR_SHARE: Final = 0.004
"""Biases, norms and their like are at most this share of a layer (Qwen2.5-0.5B: 0.0032)."""

OUTER_SHARE: Final = 0.02
"""Final norms and position tables (32-bit) are at most this share of a model; more is a shared block."""

FUSED_QKV: Final = (
    "falcon-", "mpt-", "bloom", "gpt-neox", "pythia", "gpt2", "starcoder-", "starcoderbase", "santacoder", "dbrx",
    "phi-3", "phi-4", "chatglm", "qwen-1_8b", "qwen-7b", "qwen-14b", "qwen-72b",
)  # fmt: skip
"""Starts of the names of families whose file keeps query, key and value in one matrix."""

ROLE_OF_PART: Final[dict[str, str]] = {
    "q": "attention_qo", "k": "attention_kv", "v": "attention_kv", "qkv": "attention_qo", "attn_out": "attention_qo",
    "mla_down": "attention_mla_down", "mla_up": "attention_mla_up", "gate": "ffn", "up": "ffn", "down": "ffn",
    "experts_gate": "experts", "experts_up": "experts", "experts_down": "experts", "shared_gate": "shared_experts",
    "shared_up": "shared_experts", "shared_down": "shared_experts", "router": "router", "vector": "norms",
    "matrix": "mixer", "embedding": "embedding", "head": "head", "tables": "per_layer_embedding", "outer": "other",
    "positions": "other",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One matrix (or `vector`, a heap of small 32-bit tensors): values, row length, layer and ordinal of v."""

    part: str
    values: int
    row: int
    layer: int
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class GgufSize:
    """Bytes of a file. `embedding_bytes` (part of `tensor_bytes`) is the table that llama.cpp keeps on the host."""

    file_type: str
    tensor_bytes: int
    embedding_bytes: int
    metadata_bytes: int
    role_bytes: tuple[tuple[str, int], ...]
    role_bits: tuple[tuple[str, float], ...]
    method: Literal["tensors", "ratio"]

    @property
    def file_bytes(self) -> int:
        """Bytes of the file: tensors, tokenizer and header."""
        return self.tensor_bytes + self.metadata_bytes


CALIBRATING: Final = frozenset({"bartowski", "unsloth"})
"""Publishers that make every file with an importance matrix, as their model cards say; mradermacher's `-i1` are too."""

OF_2023: Final = frozenset({"thebloke"})
"""Publishers whose files were made by the quantiser of 2023. It did not single a lone expert out, so experts have the
file's main type (Mixtral-8x7B Q4_K_M 26.44 GB), and its Q2_K had Q3_K in all matrices but query, key and embedding: so
come out the published Llama-2-7B (2.83 GB) and Llama-2-70B (29.3 GB), 0.3 and 3.8 GB above today's."""


def gguf_bytes(model: Model, file_type: str, publisher: str = "") -> int:
    """Return the bytes of the file, tokenizer and header included.

    Args:
        model: the architecture.
        file_type: key of `gguf_types.BASE`.
        publisher: hub id of the repository that the file lies in, where one is named.
    """
    owner, _, name = publisher.casefold().partition("/")
    calibrated = True if owner in CALIBRATING or (owner == "mradermacher" and "-i1" in name) else None
    return gguf_size(model, file_type, calibrated=calibrated, of_2023=owner in OF_2023).file_bytes


def gguf_size(
    model: Model,
    file_type: str,
    whole_file_bits: float | None = None,
    calibrated: bool | None = None,
    of_2023: bool = False,
) -> GgufSize:
    """Return the bytes of a model in a file type of llama.cpp, whole and by tensor role.

    Args:
        model: the architecture.
        file_type: key of `gguf_types.BASE`, for example q4_k_m, with or without the prefix ggufmix_.
        whole_file_bits: bits per weight of a whole file, used only where the tensors cannot be enumerated.
        calibrated: whether an importance matrix was used; by default only where the quantiser asks for one.
        of_2023: whether the rules are those of 2023, when each expert was a tensor of its own.

    Raises:
        KeyError: a file type llama.cpp does not have.
    """
    kind = file_type.lower().removeprefix("ggufmix_")
    BASE[kind]
    metadata = METADATA_BYTES_PER_TOKEN * model.vocab_size
    if whole_file_bits is not None and not enumerable(model):
        return _by_ratio(model, kind, whole_file_bits, metadata)
    traits = replace(_traits(model, needs_calibration(kind) if calibrated is None else calibrated), of_2023=of_2023)
    size: dict[str, int] = {}
    values: dict[str, int] = {}
    for tensor in tensors(model):
        role = ROLE_OF_PART[tensor.part]
        stored = _tensor_bytes(kind, tensor, traits, model)
        size[role] = size.get(role, 0) + stored
        values[role] = values.get(role, 0) + tensor.values
    return GgufSize(
        file_type=kind,
        tensor_bytes=sum(size.values()),
        embedding_bytes=size.get("embedding", 0),
        metadata_bytes=metadata,
        role_bytes=tuple(sorted(size.items())),
        role_bits=tuple((role, size[role] * 8 / values[role]) for role in sorted(size) if values[role]),
        method="tensors",
    )


def gguf_role_bits(model: Model, file_type: str) -> dict[str, float]:
    """Return the mean bits per weight of every tensor role in a file, for sharding and layer splits.

    A role that the enumeration does not tell apart has the bits of the file's main block type.
    """
    size = gguf_size(model, file_type)
    own = dict(size.role_bits)
    block, stored = BLOCKS[divides(BASE[size.file_type], _row(model))]
    if "attention_kv" not in own and "attention_qo" in own:
        own["attention_kv"] = own["attention_qo"]
    return dict.fromkeys(sorted(set(ROLE_OF_PART.values()) | {"indexer"}), stored * 8 / block) | own


def enumerable(model: Model) -> bool:
    """Return whether the tensors add up to the model and have rules: not so for RWKV and encoder-decoders."""
    odd = "rwkv" in model.attention_kind or "encoder-decoder" in model.attention_kind
    return not odd and sum(tensor.values for tensor in tensors(model)) == model.params_text


def _by_ratio(model: Model, kind: str, bits: float, metadata: int) -> GgufSize:
    total = round(model.params_text * bits / 8)
    table = divides(BASE[kind], model.d_model)
    embedding = _bytes_in(table, model.vocab_size * model.d_model)
    return GgufSize(kind, total, min(embedding, total), metadata, (), (), "ratio")


def _bytes_in(block: str, values: int) -> int:
    size, stored = BLOCKS[block]
    return -(-values // size) * stored


def _tensor_bytes(kind: str, tensor: Tensor, traits: Traits, model: Model) -> int:
    if tensor.part in ("router", "vector", "positions"):
        return tensor.values * 4
    part = "embedding" if tensor.part == "tables" else tensor.part.removeprefix("shared_")
    if part == "embedding" and model.tied_embeddings:
        part = "head"
    index = tensor.ordinal if part == "v" else tensor.layer
    return _bytes_in(block_type(kind, part, index, traits, tensor.row), tensor.values)


def _traits(model: Model, calibrated: bool) -> Traits:
    attention = [group for group in model.groups if group.n_heads and group.attention not in ("none", "cross")]
    first = attention[0] if attention else None
    shared = (first.n_heads or 1) / (first.n_kv_heads or first.n_heads or 1) if first is not None else 1.0
    experts = max((group.n_experts or 0 for group in model.groups), default=0)
    values = sum(1 for tensor in tensors(model) if tensor.part in ("v", "qkv"))
    falcon = _family(model).startswith("falcon-") and "mamba" not in model.attention_kind
    return Traits(model.n_layers, values, shared, experts, falcon, calibrated)


def _family(model: Model) -> str:
    return model.model_id.rsplit("/", 1)[-1]


def tensors(model: Model) -> Iterator[Tensor]:
    """Yield the tensors of a model, outer ones first, then layer by layer."""
    width = model.embedding_dim or model.d_model
    table = model.vocab_size * width
    yield Tensor("embedding", table, width, 0)
    headed = not model.tied_embeddings and model.non_layer_params >= 2 * table
    if headed:
        yield Tensor("head", table, width, 0)
    per_layer = (model.per_layer_embedding_dim or 0) * model.n_layers
    if per_layer:
        yield Tensor("tables", (model.per_layer_embedding_rows or 0) * per_layer, per_layer, 0)
    rest = model.non_layer_params - table * (2 if headed else 1) - (model.per_layer_embedding_rows or 0) * per_layer
    if rest > 0:
        yield Tensor(_outer_part(model, rest), rest, _row(model), 0)
    fused = _family(model).startswith(FUSED_QKV)
    ordinal = 0
    for layer, group in enumerate(_layers(model)):
        found = list(_layer(model, group, layer, ordinal, fused))
        yield from found
        yield from _remainder(model, group, layer, found)
        ordinal += any(tensor.part in ("v", "qkv") for tensor in found)


def _outer_part(model: Model, rest: int) -> str:
    """Return what lies outside the layers beside embedding and head: norms, position tables, or a shared block."""
    if rest > OUTER_SHARE * model.params_text or model.per_layer_embedding_dim:
        return "outer"
    return "vector" if rest <= OUTER_NORM_WIDTHS * model.d_model else "positions"


def _row(model: Model) -> int:
    return 256 if model.d_model % 256 == 0 else 32


def _layers(model: Model) -> list[LayerGroup]:
    """Return the group of each layer in order: spread evenly where no order was read, last where one group lacks it."""
    placed: list[tuple[float, int]] = []
    known = any(group.indices is not None for group in model.groups)
    for number, group in enumerate(model.groups):
        if group.indices is not None:
            placed.extend((float(index), number) for index in group.indices)
        elif known:
            placed.extend((float(model.n_layers), number) for _ in range(group.count))
        else:
            placed.extend(((position + 0.5) / group.count, number) for position in range(group.count))
    return [model.groups[number] for _, number in sorted(placed)]


def _layer(model: Model, group: LayerGroup, layer: int, ordinal: int, fused: bool) -> Iterator[Tensor]:
    yield from _attention(model, group, layer, ordinal, fused)
    d, gated = model.d_model, model.gated_ffn
    if group.ffn == "none" or group.shared_block:
        return
    if group.d_ff:
        yield from _ffn("", d, group.d_ff, 1, gated, layer)
    if group.n_experts and group.moe_d_ff:
        yield Tensor("router", d * group.n_experts, d, layer)
        yield from _ffn("experts_", model.moe_latent_dim or d, group.moe_d_ff, group.n_experts, gated, layer)
    if group.shared_d_ff:
        yield from _ffn("shared_", d, group.shared_d_ff, 1, gated, layer)


def _ffn(prefix: str, d: int, width: int, copies: int, gated: bool, layer: int) -> Iterator[Tensor]:
    if gated:
        yield Tensor(f"{prefix}gate", copies * d * width, d, layer)
    yield Tensor(f"{prefix}up", copies * d * width, d, layer)
    yield Tensor(f"{prefix}down", copies * d * width, width, layer)


def _attention(model: Model, group: LayerGroup, layer: int, ordinal: int, fused: bool) -> Iterator[Tensor]:
    heads, d = group.n_heads, model.d_model
    if not heads or group.shared_block or model.o_lora_rank or group.attention not in PROJECTED | {"mla"}:
        return
    if group.attention == "mla" and model.kv_lora_rank:
        yield from _latent_attention(model, heads, layer)
        return
    kv, d_k, d_v = group.n_kv_heads or heads, group.d_k or 0, group.d_v or group.d_k or 0
    if fused:
        yield Tensor("qkv", d * (heads * d_k + kv * (d_k + d_v)), d, layer, ordinal)
    else:
        yield Tensor("q", d * heads * (d_k + (d_v if group.output_gate else 0)), d, layer)
        if group.owns_cache:
            yield Tensor("k", d * kv * d_k, d, layer)
        if group.owns_cache and not group.shared_kv_projection:
            yield Tensor("v", d * kv * d_v, d, layer, ordinal)
    yield Tensor("attn_out", heads * d_v * d, heads * d_v, layer)


def _latent_attention(model: Model, heads: int, layer: int) -> Iterator[Tensor]:
    """MLA: down-projections by d, key part up by rows of nope, value part up by rows of the latent."""
    d, latent = model.d_model, model.kv_lora_rank or 0
    nope, rope, v = model.qk_nope_head_dim or 0, model.qk_rope_head_dim or 0, model.v_head_dim or 0
    if model.q_lora_rank:
        yield Tensor("mla_down", d * model.q_lora_rank, d, layer)
        yield Tensor("mla_up", model.q_lora_rank * heads * (nope + rope), model.q_lora_rank, layer)
    else:
        yield Tensor("q", d * heads * (nope + rope), d, layer)
    yield Tensor("mla_down", d * (latent + rope), d, layer)
    yield Tensor("mla_up", heads * nope * latent, nope, layer)
    yield Tensor("mla_up", heads * v * latent, latent, layer)
    yield Tensor("attn_out", heads * v * d, heads * v, layer)


def _remainder(model: Model, group: LayerGroup, layer: int, found: list[Tensor]) -> Iterator[Tensor]:
    """What the group holds beyond its matrices: vectors, or a mixer that is not enumerated."""
    rest = group.params - sum(tensor.values for tensor in found)
    if rest <= 0:
        return
    if rest <= max(VECTOR_SHARE * group.params, 16 * model.d_model):
        yield Tensor("vector", rest, rest, layer)
    else:
        yield Tensor("outer" if model.per_layer_embedding_dim else "matrix", rest, _row(model), layer)
