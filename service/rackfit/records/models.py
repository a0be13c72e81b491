"""Model architectures: layers by kind, towers, the named checkpoints that share the shape, and published files.

One file per architecture. What belongs to a release (context, precision, licence, date) sits on the checkpoint;
what belongs to the shape sits on the record. Totals are typed beside the layers on purpose: they come from another
count, and `rules/layer_sums.py` compares the two.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rackfit.records.base import Confidence, Count, Part, PartialDate, PositiveCount, Record, SourceKey, Text
from rackfit.records.indices import PATTERN, parse_indices

HubId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$")]
"""A name as the hub writes it: `org/name`, or a bare name for releases that never had a repository."""
PrecisionId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
LayerIndices = Annotated[str, StringConstraints(pattern=PATTERN)]
Attention = Literal[
    "gqa", "mla", "sliding", "chunked", "cross", "none", "linear", "lightning",
    "mamba1", "mamba2", "gated_deltanet", "kda", "rwkv", "shortconv",
]  # fmt: skip
"""How the layers of a group mix tokens. MHA and MQA are gqa; linear is RG-LRU; none has no token mixer."""
Bias = Literal["no", "qkv", "qkv+o", "q,v,o"]
QkNorm = Literal["no", "head", "full", "perhead", "l2"]


class LayerGroup(Part):
    """`count` identical layers. Element counts are values per layer: per token, or per sequence for state."""

    count: PositiveCount
    layer_indices: LayerIndices | None = None
    beside: bool = False
    pattern: Text | None = None
    attention: Attention
    n_heads: PositiveCount | None = None
    n_kv_heads: PositiveCount | None = None
    d_k: PositiveCount | None = None
    d_v: Count | None = None
    window: PositiveCount | None = None
    kv_shared_with: Literal["own", "shares"] | None = None
    output_gate: bool = False
    shared_kv_projection: bool = False
    cross_attention: bool = False
    shared_block: bool = False
    index_dim: Count | None = None
    index_n_heads: PositiveCount | None = None
    compress_ratio: PositiveCount | None = None
    ffn: Literal["dense", "moe", "none"]
    d_ff: PositiveCount | None = None
    n_experts: PositiveCount | None = None
    n_experts_active: PositiveCount | None = None
    moe_d_ff: PositiveCount | None = None
    shared_d_ff: Count | None = None
    state_elems: Count | None = None
    conv_elems: Count | None = None
    kv_full_elems: Count
    kv_windowed_elems: Count
    params_per_layer: Count
    sources: Annotated[list[SourceKey], Field(min_length=1)]
    confidence: Confidence
    note: Text | None = None

    @model_validator(mode="after")
    def _group_is_consistent(self) -> Self:
        if self.layer_indices is not None:
            named = len(set(parse_indices(self.layer_indices)))
            if named != self.count:
                raise ValueError(f"layer_indices names {named} layers, not count = {self.count}")
        if (self.attention in ("sliding", "chunked") or self.kv_windowed_elems) and self.window is None:
            raise ValueError("window is missing: sliding and chunked layers have one")
        if self.ffn == "moe" and None in (self.n_experts, self.n_experts_active, self.moe_d_ff):
            raise ValueError("a moe group states n_experts, n_experts_active and moe_d_ff")
        if self.kv_shared_with == "shares" and (self.kv_full_elems or self.kv_windowed_elems):
            raise ValueError("layers that share a cache own no cache values: kv_full_elems and kv_windowed_elems are 0")
        return self


class Tower(Part):
    """An encoder beside the language model; `params` includes its projector."""

    checkpoint: HubId | None = None
    modality: Literal["vision", "audio", "vision_audio"]
    tower_kind: Text
    params: Count
    inside_text: bool = False
    layers: Count | None = None
    width: PositiveCount | None = None
    d_ff: PositiveCount | None = None
    patch: PositiveCount | None = None
    merge: Text | None = None
    tokens_per_image_rule: Text
    max_tokens_per_image: PositiveCount | None = None
    tokens_per_video_frame: Text | None = None
    replicated_per_rank: Text | None = None
    sources: Annotated[list[SourceKey], Field(min_length=1)]
    confidence: Confidence
    note: Text | None = None


class Checkpoint(Part):
    """A named set of weights of this architecture."""

    hf_id: HubId
    aliases: list[str] = []
    quantized_from: HubId | None = None
    release_date: PartialDate | None = None
    release_date_basis: Text | None = None
    hf_created_date: PartialDate | None = None
    licence: Text | None = None
    max_context: PositiveCount | None = None
    max_context_basis: Text | None = None
    native_precision: PrecisionId | None = None
    native_precision_basis: Text | None = None
    published_params: PositiveCount | None = None
    published_scope: Text | None = None
    published_is_input: bool = False
    computed_params: PositiveCount | None = None
    count_method: Text | None = None
    mismatch_reason: Text | None = None
    fields_seen_in: Text | None = None
    unsourced_fields: list[str] = []
    unknown: list[str] = []
    sources: Annotated[list[SourceKey], Field(min_length=1)]
    confidence: Confidence
    confidence_detail: Text | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _unknown_is_absent(self) -> Self:
        for name in self.unknown:
            if name not in type(self).model_fields:
                raise ValueError(f"unknown names {name!r}, which is not a field of a checkpoint")
            if getattr(self, name) is not None:
                raise ValueError(f"unknown lists {name!r}, which has a value")
        if self.published_params is not None and self.published_scope is None:
            raise ValueError("published_scope is missing: a published count states what it counts")
        return self


class Artifact(Part):
    """A published file or folder of weights whose exact size is known."""

    artifact_id: Text
    precision: PrecisionId | None = None
    stored_as: Text | None = None
    bytes: PositiveCount
    what_is_counted: Text
    date: PartialDate
    sources: Annotated[list[SourceKey], Field(min_length=1)]
    confidence: Confidence
    note: Text | None = None

    @model_validator(mode="after")
    def _says_how_it_is_stored(self) -> Self:
        if self.precision is None and self.stored_as is None:
            raise ValueError("precision is missing: give it, or say in stored_as why no single one fits")
        return self


class Architecture(Record):
    """A model architecture. `slug` is the lower-cased hub id of the first release that had it."""

    name: Text
    aliases: list[str] = []
    model_family: Text
    attention_kind: Text
    layer_pattern: Text | None = None
    d_model: PositiveCount
    n_layers: PositiveCount
    n_heads: PositiveCount | None = None
    n_kv_heads: PositiveCount | None = None
    d_head: PositiveCount | None = None
    d_ff: PositiveCount | None = None
    vocab_size: PositiveCount
    tie_word_embeddings: bool
    gated_ffn: bool | None = None
    attention_bias: Bias
    qk_norm: QkNorm
    kv_lora_rank: PositiveCount | None = None
    q_lora_rank: PositiveCount | None = None
    qk_nope_head_dim: PositiveCount | None = None
    qk_rope_head_dim: PositiveCount | None = None
    v_head_dim: PositiveCount | None = None
    sliding_window: PositiveCount | None = None
    n_full_attn_layers: Count | None = None
    n_windowed_layers: Count | None = None
    n_linear_layers: Count | None = None
    linear_kind: Text | None = None
    linear_conv_kernel: PositiveCount | None = None
    linear_state_size: PositiveCount | None = None
    linear_n_heads: PositiveCount | None = None
    linear_head_dim: PositiveCount | None = None
    n_experts: PositiveCount | None = None
    n_experts_active: PositiveCount | None = None
    n_shared_experts: Count | None = None
    moe_d_ff: PositiveCount | None = None
    shared_expert_d_ff: PositiveCount | None = None
    moe_latent_dim: PositiveCount | None = None
    o_lora_rank: PositiveCount | None = None
    o_groups: PositiveCount | None = None
    embedding_dim: PositiveCount | None = None
    per_layer_embedding_dim: PositiveCount | None = None
    per_layer_embedding_rows: PositiveCount | None = None
    n_dense_layers: Count | None = None
    mtp_layers: Count
    mtp_params: PositiveCount | None = None
    params_total: PositiveCount
    params_text: PositiveCount
    params_active: PositiveCount
    non_layer_params: PositiveCount
    kv_elems_per_token_full: Count
    kv_elems_per_token_windowed: Count
    recurrent_state_elems: Count
    confidence_detail: Text | None = None
    unsourced_fields: list[str] = []
    layer_groups: Annotated[list[LayerGroup], Field(min_length=1)]
    towers: list[Tower] = []
    checkpoints: Annotated[list[Checkpoint], Field(min_length=1)]
    artifacts: list[Artifact] = []

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """Return the names of the fields that are about the record and need no source."""
        return super().bookkeeping() | {"name", "unsourced_fields", "confidence_detail"}

    @model_validator(mode="after")
    def _unsourced_fields_exist(self) -> Self:
        for name in self.unsourced_fields:
            if name not in type(self).model_fields:
                raise ValueError(f"unsourced_fields names {name!r}, which is not a field of this record")
        return self
