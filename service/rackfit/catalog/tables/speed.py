"""Efficiencies as a table. Same columns as migrations/m0008_speed.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class EfficiencyRow(SQLModel, table=True):
    """One engine on one class of memory, for one family of weight formats."""

    __tablename__ = "efficiencies"
    __table_args__ = ({"sqlite_strict": True},)

    efficiency_id: str = Field(sa_type=Text, primary_key=True)
    engine_name: str = Field(sa_type=Text)
    memory_class: str = Field(sa_type=Text)
    precision_family: str = Field(sa_type=Text)
    kernel: str | None = Field(default=None, sa_type=Text)
    bandwidth_share: float = Field(sa_type=REAL)
    ecc_share: float | None = Field(default=None, sa_type=REAL)
    unit_gb_s: float | None = Field(default=None, sa_type=REAL)
    unit_kind: str | None = Field(default=None, sa_type=Text)
    layer_ms: float = Field(sa_type=REAL)
    moe_layer_ms: float | None = Field(default=None, sa_type=REAL)
    handover_ms: float = Field(sa_type=REAL)
    all_reduce_ms: float = Field(sa_type=REAL)
    all_reduce_step_ms: float = Field(sa_type=REAL)
    host_layer_ms: float = Field(sa_type=REAL)
    head_cache_gb_s: float | None = Field(default=None, sa_type=REAL)
    spread_below: float = Field(sa_type=REAL)
    spread_above: float = Field(sa_type=REAL)
    case_count: int = Field(sa_type=Integer)
    measured_on: str = Field(sa_type=Text)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
