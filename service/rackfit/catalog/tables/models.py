"""Models, checkpoints, layer groups, towers and artifacts as tables. Same columns as migrations/m0004_models.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel

STRICT = {"sqlite_strict": True}


class ModelRow(SQLModel, table=True):
    """An architecture with its totals and how well they are verified."""

    __tablename__ = "models"
    __table_args__ = (STRICT,)

    model_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    model_family: str = Field(sa_type=Text)
    attention_kind: str = Field(sa_type=Text)
    layer_pattern: str | None = Field(default=None, sa_type=Text)
    d_model: int = Field(sa_type=Integer)
    n_layers: int = Field(sa_type=Integer)
    n_heads: int | None = Field(default=None, sa_type=Integer)
    n_kv_heads: int | None = Field(default=None, sa_type=Integer)
    d_head: int | None = Field(default=None, sa_type=Integer)
    d_ff: int | None = Field(default=None, sa_type=Integer)
    vocab_size: int = Field(sa_type=Integer)
    tie_word_embeddings: int = Field(sa_type=Integer)
    gated_ffn: int | None = Field(default=None, sa_type=Integer)
    attention_bias: str = Field(sa_type=Text)
    qk_norm: str = Field(sa_type=Text)
    max_context: int | None = Field(default=None, sa_type=Integer)
    kv_lora_rank: int | None = Field(default=None, sa_type=Integer)
    q_lora_rank: int | None = Field(default=None, sa_type=Integer)
    qk_nope_head_dim: int | None = Field(default=None, sa_type=Integer)
    qk_rope_head_dim: int | None = Field(default=None, sa_type=Integer)
    v_head_dim: int | None = Field(default=None, sa_type=Integer)
    sliding_window: int | None = Field(default=None, sa_type=Integer)
    n_full_attn_layers: int | None = Field(default=None, sa_type=Integer)
    n_windowed_layers: int | None = Field(default=None, sa_type=Integer)
    n_linear_layers: int | None = Field(default=None, sa_type=Integer)
    linear_kind: str | None = Field(default=None, sa_type=Text)
    linear_conv_kernel: int | None = Field(default=None, sa_type=Integer)
    linear_state_size: int | None = Field(default=None, sa_type=Integer)
    linear_n_heads: int | None = Field(default=None, sa_type=Integer)
    linear_head_dim: int | None = Field(default=None, sa_type=Integer)
    n_experts: int | None = Field(default=None, sa_type=Integer)
    n_experts_active: int | None = Field(default=None, sa_type=Integer)
    n_shared_experts: int | None = Field(default=None, sa_type=Integer)
    moe_d_ff: int | None = Field(default=None, sa_type=Integer)
    shared_expert_d_ff: int | None = Field(default=None, sa_type=Integer)
    moe_latent_dim: int | None = Field(default=None, sa_type=Integer)
    o_lora_rank: int | None = Field(default=None, sa_type=Integer)
    o_groups: int | None = Field(default=None, sa_type=Integer)
    embedding_dim: int | None = Field(default=None, sa_type=Integer)
    per_layer_embedding_dim: int | None = Field(default=None, sa_type=Integer)
    per_layer_embedding_rows: int | None = Field(default=None, sa_type=Integer)
    n_dense_layers: int | None = Field(default=None, sa_type=Integer)
    mtp_layers: int = Field(sa_type=Integer)
    mtp_params: int | None = Field(default=None, sa_type=Integer)
    params_total: int = Field(sa_type=Integer)
    params_text: int = Field(sa_type=Integer)
    params_active: int = Field(sa_type=Integer)
    non_layer_params: int = Field(sa_type=Integer)
    tower_params: int = Field(sa_type=Integer)
    kv_elems_per_token_full: int = Field(sa_type=Integer)
    kv_elems_per_token_windowed: int = Field(sa_type=Integer)
    recurrent_state_elems: int = Field(sa_type=Integer)
    published_params: int | None = Field(default=None, sa_type=Integer)
    published_scope: str | None = Field(default=None, sa_type=Text)
    computed_params: int | None = Field(default=None, sa_type=Integer)
    relative_error: float | None = Field(default=None, sa_type=REAL)
    verification: str = Field(sa_type=Text)
    mismatch_reason: str | None = Field(default=None, sa_type=Text)
    count_method: str | None = Field(default=None, sa_type=Text)
    native_precision_id: str | None = Field(default=None, sa_type=Text, foreign_key="precisions.precision_id")
    licence: str | None = Field(default=None, sa_type=Text)
    release_date: str | None = Field(default=None, sa_type=Text)
    n_checkpoints: int = Field(sa_type=Integer)
    unsourced_fields: str | None = Field(default=None, sa_type=Text)
    second_hand: int = Field(sa_type=Integer)
    confidence: str = Field(sa_type=Text)
    confidence_detail: str | None = Field(default=None, sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)


class CheckpointRow(SQLModel, table=True):
    """A named release of an architecture."""

    __tablename__ = "checkpoints"
    __table_args__ = (STRICT,)

    checkpoint_id: str = Field(sa_type=Text, primary_key=True)
    hf_id: str = Field(sa_type=Text)
    model_id: str = Field(sa_type=Text, foreign_key="models.model_id")
    quantized_from: str | None = Field(default=None, sa_type=Text, foreign_key="checkpoints.checkpoint_id")
    native_precision_id: str | None = Field(default=None, sa_type=Text, foreign_key="precisions.precision_id")
    native_precision_basis: str | None = Field(default=None, sa_type=Text)
    max_context: int | None = Field(default=None, sa_type=Integer)
    max_context_basis: str | None = Field(default=None, sa_type=Text)
    licence: str | None = Field(default=None, sa_type=Text)
    release_date: str | None = Field(default=None, sa_type=Text)
    release_date_basis: str | None = Field(default=None, sa_type=Text)
    hf_created_date: str | None = Field(default=None, sa_type=Text)
    params_total: int = Field(sa_type=Integer)
    published_params: int | None = Field(default=None, sa_type=Integer)
    published_scope: str | None = Field(default=None, sa_type=Text)
    published_is_input: int = Field(default=0, sa_type=Integer)
    computed_params: int | None = Field(default=None, sa_type=Integer)
    relative_error: float | None = Field(default=None, sa_type=REAL)
    verification: str = Field(sa_type=Text)
    mismatch_reason: str | None = Field(default=None, sa_type=Text)
    count_method: str | None = Field(default=None, sa_type=Text)
    fields_seen_in: str | None = Field(default=None, sa_type=Text)
    unsourced_fields: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    confidence_detail: str | None = Field(default=None, sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)


class LayerGroupRow(SQLModel, table=True):
    """Identical layers of one architecture."""

    __tablename__ = "layer_groups"
    __table_args__ = (STRICT,)

    model_id: str = Field(sa_type=Text, primary_key=True, foreign_key="models.model_id")
    group_index: int = Field(sa_type=Integer, primary_key=True)
    count: int = Field(sa_type=Integer)
    layer_indices: str | None = Field(default=None, sa_type=Text)
    beside: int = Field(default=0, sa_type=Integer)
    pattern: str | None = Field(default=None, sa_type=Text)
    attention: str = Field(sa_type=Text)
    n_heads: int | None = Field(default=None, sa_type=Integer)
    n_kv_heads: int | None = Field(default=None, sa_type=Integer)
    d_k: int | None = Field(default=None, sa_type=Integer)
    d_v: int | None = Field(default=None, sa_type=Integer)
    window: int | None = Field(default=None, sa_type=Integer)
    kv_shared_with: str | None = Field(default=None, sa_type=Text)
    output_gate: int = Field(default=0, sa_type=Integer)
    shared_kv_projection: int = Field(default=0, sa_type=Integer)
    cross_attention: int = Field(default=0, sa_type=Integer)
    shared_block: int = Field(default=0, sa_type=Integer)
    index_dim: int | None = Field(default=None, sa_type=Integer)
    index_n_heads: int | None = Field(default=None, sa_type=Integer)
    compress_ratio: int | None = Field(default=None, sa_type=Integer)
    ffn: str = Field(sa_type=Text)
    d_ff: int | None = Field(default=None, sa_type=Integer)
    n_experts: int | None = Field(default=None, sa_type=Integer)
    n_experts_active: int | None = Field(default=None, sa_type=Integer)
    moe_d_ff: int | None = Field(default=None, sa_type=Integer)
    shared_d_ff: int | None = Field(default=None, sa_type=Integer)
    state_elems: int | None = Field(default=None, sa_type=Integer)
    conv_elems: int | None = Field(default=None, sa_type=Integer)
    kv_full_elems: int = Field(sa_type=Integer)
    kv_windowed_elems: int = Field(sa_type=Integer)
    params_per_layer: int = Field(sa_type=Integer)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class TowerRow(SQLModel, table=True):
    """An encoder beside the language model."""

    __tablename__ = "towers"
    __table_args__ = (STRICT,)

    model_id: str = Field(sa_type=Text, primary_key=True, foreign_key="models.model_id")
    tower_index: int = Field(sa_type=Integer, primary_key=True)
    checkpoint_id: str | None = Field(default=None, sa_type=Text, foreign_key="checkpoints.checkpoint_id")
    modality: str = Field(sa_type=Text)
    tower_kind: str = Field(sa_type=Text)
    params: int = Field(sa_type=Integer)
    inside_text: int = Field(default=0, sa_type=Integer)
    layers: int | None = Field(default=None, sa_type=Integer)
    width: int | None = Field(default=None, sa_type=Integer)
    d_ff: int | None = Field(default=None, sa_type=Integer)
    patch: int | None = Field(default=None, sa_type=Integer)
    merge: str | None = Field(default=None, sa_type=Text)
    tokens_per_image_rule: str = Field(sa_type=Text)
    max_tokens_per_image: int | None = Field(default=None, sa_type=Integer)
    tokens_per_video_frame: str | None = Field(default=None, sa_type=Text)
    replicated_per_rank: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class ArtifactRow(SQLModel, table=True):
    """A published file of weights with its exact size."""

    __tablename__ = "artifacts"
    __table_args__ = (STRICT,)

    artifact_id: str = Field(sa_type=Text, primary_key=True)
    model_id: str = Field(sa_type=Text, foreign_key="models.model_id")
    precision_id: str | None = Field(default=None, sa_type=Text, foreign_key="precisions.precision_id")
    stored_as: str | None = Field(default=None, sa_type=Text)
    bytes: int = Field(sa_type=Integer)
    what_is_counted: str = Field(sa_type=Text)
    date: str = Field(sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
