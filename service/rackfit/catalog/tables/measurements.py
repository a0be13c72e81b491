"""Measurements as a table. Same columns as migrations/m0006_measurements.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class MeasurementRow(SQLModel, table=True):
    """One published figure with the configuration it stands for."""

    __tablename__ = "measurements"
    __table_args__ = ({"sqlite_strict": True},)

    case_id: str = Field(sa_type=Text, primary_key=True)
    kind: str = Field(sa_type=Text)
    model_id: str | None = Field(default=None, sa_type=Text)
    params_total: str | None = Field(default=None, sa_type=Text)
    precision_or_quant: str | None = Field(default=None, sa_type=Text)
    kv_dtype: str | None = Field(default=None, sa_type=Text)
    gpu: str | None = Field(default=None, sa_type=Text)
    gpu_count: int | None = Field(default=None, sa_type=Integer)
    tp: int | None = Field(default=None, sa_type=Integer)
    pp: int | None = Field(default=None, sa_type=Integer)
    dp_or_zero: str | None = Field(default=None, sa_type=Text)
    context_tokens: int | None = Field(default=None, sa_type=Integer)
    batch: str | None = Field(default=None, sa_type=Text)
    other_config: str | None = Field(default=None, sa_type=Text)
    quantity: str = Field(sa_type=Text)
    value: str = Field(sa_type=Text)
    numeric_value: float | None = Field(default=None, sa_type=REAL)
    unit: str | None = Field(default=None, sa_type=Text)
    engine_and_version: str | None = Field(default=None, sa_type=Text)
    source_url: str = Field(sa_type=Text)
    source_note: str | None = Field(default=None, sa_type=Text)
    confidence: str = Field(sa_type=Text)
    set_name: str = Field(sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)
