"""Configurations, fits, answers and estimates as tables. Same columns as migrations/m0007_fits.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class BudgetRow(SQLModel, table=True):
    """One engine in one range of versions."""

    __tablename__ = "runtime_budgets"
    __table_args__ = ({"sqlite_strict": True},)

    budget_id: str = Field(sa_type=Text, primary_key=True)
    runtime_id: str = Field(sa_type=Text, foreign_key="runtimes.runtime_id")
    engine: str | None = Field(default=None, sa_type=Text)
    version_from: str = Field(sa_type=Text)
    version_to: str | None = Field(default=None, sa_type=Text)
    released: str | None = Field(default=None, sa_type=Text)
    equation: str = Field(sa_type=Text)
    utilization: float = Field(sa_type=REAL)
    parallelism: str = Field(sa_type=Text)
    profiled_tokens: str = Field(sa_type=Text)
    forward_bytes: float = Field(sa_type=REAL)
    sampler_bytes_per_logit: float = Field(sa_type=REAL)
    persistent_bytes_per_logit: float = Field(sa_type=REAL)
    logit_rows: int | None = Field(default=None, sa_type=Integer)
    non_torch_bytes_single: int = Field(sa_type=Integer)
    non_torch_bytes_parallel: int = Field(sa_type=Integer)
    context_bytes: int = Field(sa_type=Integer)
    graph_bytes: int = Field(sa_type=Integer)
    graphs_in_budget: int = Field(sa_type=Integer)
    kv_block_tokens: int = Field(sa_type=Integer)
    window_extra_batches: int | None = Field(default=None, sa_type=Integer)
    state_bits: int = Field(sa_type=Integer)
    mla_cache: str = Field(sa_type=Text)
    mxfp4_width_multiple: int | None = Field(default=None, sa_type=Integer)
    cache_copies: float = Field(sa_type=REAL)
    min_cache_tokens: int = Field(sa_type=Integer)
    prints_gib_as_gb: int = Field(sa_type=Integer)
    prompt_logit_bytes: float = Field(sa_type=REAL)
    widened_head_bytes: float = Field(sa_type=REAL)
    loads_second_head: int = Field(sa_type=Integer)
    awq_cache_surplus: float = Field(sa_type=REAL)
    embedding_on_host: int = Field(sa_type=Integer)
    tiers: str = Field(sa_type=Text)
    small_tier_names: str = Field(sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    queue_per_stage: int = Field(default=0, sa_type=Integer)
    chunked_above: int | None = Field(default=None, sa_type=Integer)
    pipeline_budget_id: str | None = Field(default=None, sa_type=Text, foreign_key="runtime_budgets.budget_id")
    rotary_tables: int = Field(default=0, sa_type=Integer)
    widens_int4_matrix: int = Field(default=0, sa_type=Integer)
    reserve: str | None = Field(default=None, sa_type=Text)
    token_pools: str | None = Field(default=None, sa_type=Text)
    unpacked: str | None = Field(default=None, sa_type=Text)
    dense_sampler_bytes_per_logit: float | None = Field(default=None, sa_type=REAL)
    dense_persistent_bytes_per_logit: float | None = Field(default=None, sa_type=REAL)
    dense_graphs_in_budget: int | None = Field(default=None, sa_type=Integer)
    extra_hidden_states: int = Field(default=0, sa_type=Integer)
    profile_extra_bytes: int = Field(default=0, sa_type=Integer)
    keeps_expert_workspaces: int = Field(default=0, sa_type=Integer)
    expands_encoder_outputs: int = Field(default=0, sa_type=Integer)
    fused_allreduce_bytes: int = Field(default=0, sa_type=Integer)
    group_join_ratio: float | None = Field(default=None, sa_type=REAL)
    prints_blocks_per_group: int = Field(default=0, sa_type=Integer)
    keeps_reduced_inputs: int = Field(default=0, sa_type=Integer)
    clip_frames: int | None = Field(default=None, sa_type=Integer)
    clip_beside_image: int = Field(default=0, sa_type=Integer)
    base: str | None = Field(default=None, sa_type=Text, foreign_key="runtimes.runtime_id")
    named_only: int = Field(default=0, sa_type=Integer)
    runs_on: str = Field(default="[]", sa_type=Text)
    graph_share: float = Field(default=0.0, sa_type=REAL)
    left_free_bytes: int = Field(default=0, sa_type=Integer)
    context_in_budget: int = Field(default=0, sa_type=Integer)
    embedding_whole: int = Field(default=0, sa_type=Integer)
    prefill_rates: str = Field(default="[]", sa_type=Text)


class ConfigurationRow(SQLModel, table=True):
    """A shape: so many of an accelerator over a link."""

    __tablename__ = "configurations"
    __table_args__ = ({"sqlite_strict": True},)

    configuration_key: int = Field(sa_type=Integer, primary_key=True)
    configuration_id: str = Field(sa_type=Text, unique=True)
    label: str = Field(sa_type=Text)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    device_count: int = Field(sa_type=Integer)
    node_count: int = Field(sa_type=Integer)
    devices_per_node: int = Field(sa_type=Integer)
    devices_per_domain: int = Field(sa_type=Integer)
    link: str | None = Field(default=None, sa_type=Text)
    link_total_gb_s: float | None = Field(default=None, sa_type=REAL)
    inter_node_gbps: float | None = Field(default=None, sa_type=REAL)
    memory_bytes_per_device: int = Field(sa_type=Integer)
    memory_bytes_summed: int = Field(sa_type=Integer)
    memory_rule: str = Field(sa_type=Text)
    memory_spread: float = Field(sa_type=REAL)
    ram_gb: int | None = Field(default=None, sa_type=Integer)
    tdp_w_accelerators: float | None = Field(default=None, sa_type=REAL)
    segment: str = Field(sa_type=Text)


class ConfigurationSystemRow(SQLModel, table=True):
    """Systems and instances that have a shape."""

    __tablename__ = "configuration_systems"
    __table_args__ = ({"sqlite_strict": True},)

    configuration_id: str = Field(sa_type=Text, primary_key=True, foreign_key="configurations.configuration_id")
    system_id: str = Field(sa_type=Text, primary_key=True, foreign_key="systems.system_id")


class FitModelRow(SQLModel, table=True):
    """Small keys of models, for the stored matrix."""

    __tablename__ = "fit_models"
    __table_args__ = ({"sqlite_strict": True},)

    model_key: int = Field(sa_type=Integer, primary_key=True)
    model_id: str = Field(sa_type=Text, unique=True, foreign_key="models.model_id")


class FitPrecisionRow(SQLModel, table=True):
    """Small keys of precisions, for the stored matrix."""

    __tablename__ = "fit_precisions"
    __table_args__ = ({"sqlite_strict": True},)

    precision_key: int = Field(sa_type=Integer, primary_key=True)
    precision_id: str = Field(sa_type=Text, unique=True, foreign_key="precisions.precision_id")


class FitBudgetRow(SQLModel, table=True):
    """Small keys of engine budgets, for the stored matrix."""

    __tablename__ = "fit_budgets"
    __table_args__ = ({"sqlite_strict": True},)

    budget_key: int = Field(sa_type=Integer, primary_key=True)
    budget_id: str = Field(sa_type=Text, unique=True, foreign_key="runtime_budgets.budget_id")


class InferenceCellRow(SQLModel, table=True):
    """One cell of the stored matrix; the view inference_fits shows it by name."""

    __tablename__ = "inference_cells"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    model_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="fit_models.model_key")
    precision_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="fit_precisions.precision_key")
    configuration_key: int = Field(sa_type=Integer, primary_key=True, foreign_key="configurations.configuration_key")
    budget_key: int = Field(sa_type=Integer, foreign_key="fit_budgets.budget_key")
    support: str = Field(sa_type=Text)
    verdict: str = Field(sa_type=Text)
    tp: int = Field(sa_type=Integer)
    pp: int = Field(sa_type=Integer)
    ep: int = Field(sa_type=Integer)
    dp: int = Field(sa_type=Integer)
    weights_bytes: int = Field(sa_type=Integer)
    kv_bytes: int = Field(sa_type=Integer)
    workspace_bytes: int = Field(sa_type=Integer)
    runtime_bytes: int = Field(sa_type=Integer)
    total_bytes: int = Field(sa_type=Integer)
    low_bytes: int = Field(sa_type=Integer)
    high_bytes: int = Field(sa_type=Integer)
    usable_bytes: int = Field(sa_type=Integer)
    margin_bytes: int = Field(sa_type=Integer)
    limit_term: str = Field(sa_type=Text)
    max_context: int | None = Field(default=None, sa_type=Integer)
    max_sequences_8k: int | None = Field(default=None, sa_type=Integer)
    max_sequences_32k: int | None = Field(default=None, sa_type=Integer)
    max_sequences_128k: int | None = Field(default=None, sa_type=Integer)


class BestFitRow(SQLModel, table=True):
    """The smallest and the cheapest shape for a model, a precision and a workload."""

    __tablename__ = "best_fits"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    model_id: str = Field(sa_type=Text, primary_key=True, foreign_key="models.model_id")
    precision_id: str = Field(sa_type=Text, primary_key=True, foreign_key="precisions.precision_id")
    workload_id: str = Field(sa_type=Text, primary_key=True)
    criterion: str = Field(sa_type=Text, primary_key=True)
    configuration_id: str = Field(sa_type=Text, foreign_key="configurations.configuration_id")
    verdict: str = Field(sa_type=Text)
    device_count: int = Field(sa_type=Integer)
    memory_bytes_summed: int = Field(sa_type=Integer)
    margin_bytes: int = Field(sa_type=Integer)
    max_context: int | None = Field(default=None, sa_type=Integer)
    max_sequences: int | None = Field(default=None, sa_type=Integer)
    offer_id: int | None = Field(default=None, sa_type=Integer, foreign_key="offers.offer_id")
    price_per_hour: float | None = Field(default=None, sa_type=REAL)
    currency: str | None = Field(default=None, sa_type=Text)
    price_valid_from: str | None = Field(default=None, sa_type=Text)
    unpriced_alternatives: int = Field(default=0, sa_type=Integer, sa_column_kwargs={"server_default": "0"})


class EstimateRow(SQLModel, table=True):
    """What Rackfit says of a measurement, from its configuration alone."""

    __tablename__ = "estimates"
    __table_args__ = ({"sqlite_strict": True},)

    case_id: str = Field(sa_type=Text, primary_key=True, foreign_key="measurements.case_id")
    kind: str = Field(sa_type=Text)
    quantity: str = Field(sa_type=Text)
    unit: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    measured_value: float | None = Field(default=None, sa_type=REAL)
    measured_verdict: int | None = Field(default=None, sa_type=Integer)
    estimate: float | None = Field(default=None, sa_type=REAL)
    low: float | None = Field(default=None, sa_type=REAL)
    high: float | None = Field(default=None, sa_type=REAL)
    relative_error: float | None = Field(default=None, sa_type=REAL)
    inside_range: int | None = Field(default=None, sa_type=Integer)
    status: str = Field(sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    model_id: str | None = Field(default=None, sa_type=Text, foreign_key="models.model_id")
    accelerator_id: str | None = Field(default=None, sa_type=Text, foreign_key="accelerators.accelerator_id")
    precision_id: str | None = Field(default=None, sa_type=Text, foreign_key="precisions.precision_id")
    budget_id: str | None = Field(default=None, sa_type=Text, foreign_key="runtime_budgets.budget_id")
    assumptions: str | None = Field(default=None, sa_type=Text)
