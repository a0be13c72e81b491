"""Formats, engines, recipes, workloads and MFU runs as tables. Same columns as migrations/m0005_precisions.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

STRICT = {"sqlite_strict": True}


class PrecisionRow(SQLModel, table=True):
    """A storage or compute format."""

    __tablename__ = "precisions"
    __table_args__ = (STRICT,)

    precision_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    category: str = Field(sa_type=Text)
    family: str = Field(sa_type=Text)
    use: str = Field(sa_type=Text)
    nominal_bits: float | None = Field(default=None, sa_type=REAL)
    nominal_bytes_per_param: float | None = Field(default=None, sa_type=REAL)
    effective_bits: float | None = Field(default=None, sa_type=REAL)
    effective_bits_basis: str | None = Field(default=None, sa_type=Text)
    bytes_per_param: float | None = Field(default=None, sa_type=REAL)
    block_size: int | None = Field(default=None, sa_type=Integer)
    block_rows: int | None = Field(default=None, sa_type=Integer)
    block_bytes: int | None = Field(default=None, sa_type=Integer)
    scale_format: str | None = Field(default=None, sa_type=Text)
    scale_bits_per_block: int | None = Field(default=None, sa_type=Integer)
    zero_point_bits: int | None = Field(default=None, sa_type=Integer)
    extra_per_tensor: str | None = Field(default=None, sa_type=Text)
    high_precision_bits: float | None = Field(default=None, sa_type=REAL)
    shard_multiple: int | None = Field(default=None, sa_type=Integer)
    support_as: str | None = Field(default=None, sa_type=Text, foreign_key="precisions.precision_id")
    min_nvidia_cc: str | None = Field(default=None, sa_type=Text)
    min_nvidia_cc_weight_only: str | None = Field(default=None, sa_type=Text)
    min_amd_arch: str | None = Field(default=None, sa_type=Text)
    hardware_note: str | None = Field(default=None, sa_type=Text)
    typical_use: str | None = Field(default=None, sa_type=Text)
    formula: str | None = Field(default=None, sa_type=Text)
    example: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    second_hand: int = Field(default=0, sa_type=Integer)
    note: str | None = Field(default=None, sa_type=Text)


class PrecisionRoleRow(SQLModel, table=True):
    """Bits of a tensor role that a format treats apart."""

    __tablename__ = "precision_roles"
    __table_args__ = ({**STRICT, "sqlite_with_rowid": False},)

    precision_id: str = Field(sa_type=Text, primary_key=True, foreign_key="precisions.precision_id")
    role: str = Field(sa_type=Text, primary_key=True)
    bits: float = Field(sa_type=REAL)
    role_source: str = Field(sa_type=Text)


class RuntimeRow(SQLModel, table=True):
    """An inference engine."""

    __tablename__ = "runtimes"
    __table_args__ = (STRICT,)

    runtime_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    maker: str = Field(sa_type=Text)
    engine_kind: str = Field(sa_type=Text)
    licence: str | None = Field(default=None, sa_type=Text)
    home: str | None = Field(default=None, sa_type=Text)
    newest_version: str = Field(sa_type=Text)
    newest_version_date: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class RuntimeVersionRow(SQLModel, table=True):
    """A release or commit of an engine and its place in the order."""

    __tablename__ = "runtime_versions"
    __table_args__ = (UniqueConstraint("runtime_id", "position"), {**STRICT, "sqlite_with_rowid": False})

    runtime_id: str = Field(sa_type=Text, primary_key=True, foreign_key="runtimes.runtime_id")
    version: str = Field(sa_type=Text, primary_key=True)
    position: int = Field(sa_type=Integer)


class RuntimeRuleRow(SQLModel, table=True):
    """A memory rule or default of an engine, by version."""

    __tablename__ = "runtime_rules"
    __table_args__ = (STRICT,)

    rule_id: int = Field(sa_type=Integer, primary_key=True)
    runtime_id: str = Field(sa_type=Text, foreign_key="runtimes.runtime_id")
    term: str = Field(sa_type=Text)
    version_from: str | None = Field(default=None, sa_type=Text)
    version_to: str | None = Field(default=None, sa_type=Text)
    from_position: int | None = Field(default=None, sa_type=Integer)
    to_position: int | None = Field(default=None, sa_type=Integer)
    value: str = Field(sa_type=Text)
    value_number: float | None = Field(default=None, sa_type=REAL)
    unit: str | None = Field(default=None, sa_type=Text)
    applies_when: str | None = Field(default=None, sa_type=Text)
    effect: str | None = Field(default=None, sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    other_sources: str | None = Field(default=None, sa_type=Text)
    source_date: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class RuntimeConstantRow(SQLModel, table=True):
    """A number of the memory model with its evidence."""

    __tablename__ = "runtime_constants"
    __table_args__ = (STRICT,)

    constant_id: int = Field(sa_type=Integer, primary_key=True)
    runtime_id: str = Field(sa_type=Text, foreign_key="runtimes.runtime_id")
    term: str = Field(sa_type=Text)
    version_from: str | None = Field(default=None, sa_type=Text)
    version_to: str | None = Field(default=None, sa_type=Text)
    from_position: int | None = Field(default=None, sa_type=Integer)
    to_position: int | None = Field(default=None, sa_type=Integer)
    value: float = Field(sa_type=REAL)
    low: float | None = Field(default=None, sa_type=REAL)
    high: float | None = Field(default=None, sa_type=REAL)
    unit: str = Field(sa_type=Text)
    kind: str = Field(sa_type=Text)
    condition: str | None = Field(default=None, sa_type=Text)
    evidence: str = Field(sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    other_sources: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class PrecisionSupportRow(SQLModel, table=True):
    """How an engine runs a format on a kind of device."""

    __tablename__ = "precision_support"
    __table_args__ = (STRICT,)

    support_id: int = Field(sa_type=Integer, primary_key=True)
    runtime_id: str = Field(sa_type=Text, foreign_key="runtimes.runtime_id")
    precision_id: str = Field(sa_type=Text, foreign_key="precisions.precision_id")
    vendor: str = Field(sa_type=Text)
    architecture: str = Field(sa_type=Text)
    support: str = Field(sa_type=Text)
    version_from: str | None = Field(default=None, sa_type=Text)
    version_to: str | None = Field(default=None, sa_type=Text)
    from_position: int | None = Field(default=None, sa_type=Integer)
    to_position: int | None = Field(default=None, sa_type=Integer)
    kernel: str | None = Field(default=None, sa_type=Text)
    extra_memory: str | None = Field(default=None, sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    other_sources: str | None = Field(default=None, sa_type=Text)
    source_date: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class RecipeRow(SQLModel, table=True):
    """Bytes of a training method."""

    __tablename__ = "recipes"
    __table_args__ = (STRICT,)

    recipe_id: str = Field(sa_type=Text, primary_key=True)
    section: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    weights_bytes: float | None = Field(default=None, sa_type=REAL)
    weights_text: str | None = Field(default=None, sa_type=Text)
    master_bytes: float | None = Field(default=None, sa_type=REAL)
    gradient_bytes: float | None = Field(default=None, sa_type=REAL)
    gradient_accumulation_bytes: float | None = Field(default=None, sa_type=REAL)
    optimizer_bytes: float | None = Field(default=None, sa_type=REAL)
    optimizer_text: str | None = Field(default=None, sa_type=Text)
    total_bytes_per_param: float | None = Field(default=None, sa_type=REAL)
    total_text: str | None = Field(default=None, sa_type=Text)
    default_elements: float | None = Field(default=None, sa_type=REAL)
    formula: str = Field(sa_type=Text)
    gpu_resident: str | None = Field(default=None, sa_type=Text)
    cpu_resident: str | None = Field(default=None, sa_type=Text)
    nvme_resident: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    second_hand: int = Field(default=0, sa_type=Integer)
    note: str | None = Field(default=None, sa_type=Text)


class WorkloadRow(SQLModel, table=True):
    """A standard context and number of sequences."""

    __tablename__ = "workloads"
    __table_args__ = (STRICT,)

    workload_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    context: int = Field(sa_type=Integer)
    sequences: int = Field(sa_type=Integer)
    description: str = Field(sa_type=Text)


class MfuRunRow(SQLModel, table=True):
    """A published training run with its utilisation."""

    __tablename__ = "mfu_runs"
    __table_args__ = (STRICT,)

    run_id: int = Field(sa_type=Integer, primary_key=True)
    model: str = Field(sa_type=Text)
    params: int = Field(sa_type=Integer)
    precision: str = Field(sa_type=Text)
    device: str = Field(sa_type=Text)
    device_count: int = Field(sa_type=Integer)
    sharding: str = Field(sa_type=Text)
    sequence_length: int = Field(sa_type=Integer)
    micro_batch: int = Field(sa_type=Integer)
    mfu_percent: float = Field(sa_type=REAL)
    tokens_per_s_per_device: float = Field(sa_type=REAL)
    activation_checkpointing: int = Field(sa_type=Integer)
    flop_convention: str = Field(sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    file: str = Field(sa_type=Text)
