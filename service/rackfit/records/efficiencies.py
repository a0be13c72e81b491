"""Efficiencies: how near engines come to what memory can deliver, fitted on measured single-stream decoding."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rackfit.records.base import Count, NonNegative, Positive, Record, Slug, Text

Share = Annotated[float, Field(gt=0, le=1)]
Spread = Annotated[float, Field(gt=0, lt=1)]


class Efficiency(Record):
    """One engine on one class of memory, for one family of weight formats. Times are milliseconds per step."""

    engine_name: Text
    memory_class: Literal["hbm", "gddr", "unified"]
    precision_family: Literal["any", "16bit", "fp8", "int8", "int4", "gguf"]
    kernel: Text | None = None
    bandwidth_share: Share
    ecc_share: Share | None = None
    unit_gb_s: Positive | None = None
    unit_kind: Text | None = None
    layer_ms: NonNegative
    moe_layer_ms: NonNegative | None = None
    handover_ms: NonNegative = 0.0
    all_reduce_ms: NonNegative = 0.0
    all_reduce_step_ms: NonNegative = 0.0
    host_layer_ms: NonNegative = 0.0
    head_cache_gb_s: Positive | None = None
    spread_below: Spread
    spread_above: Positive
    case_count: Count
    measured_on: list[Slug]

    @model_validator(mode="after")
    def _says_its_evidence(self) -> Self:
        if (self.unit_gb_s is None) != (self.unit_kind is None):
            raise ValueError("unit_gb_s and unit_kind together: the kind of unit that the rate was measured on")
        if not self.measured_on:
            raise ValueError("measured_on: the devices behind the figures")
        return self
