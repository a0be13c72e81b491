"""Published training runs with their model FLOPs utilisation."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rackfit.records.base import Positive, PositiveCount, SourceKey, Text


class MfuRun(BaseModel):
    """One row of a published benchmark table. Cells are text, so this model converts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    origin: str
    model: Text
    params: PositiveCount
    precision: Literal["amp_bf16", "bf16", "amp_fp8"]
    device: Text
    device_count: PositiveCount
    sharding: Text
    sequence_length: PositiveCount
    micro_batch: PositiveCount
    mfu_percent: float = Field(gt=0, le=100)
    tokens_per_s_per_device: Positive
    activation_checkpointing: bool
    flop_convention: Literal["6n_plus_attention", "6n", "6n_plus_causal_attention"]
    source: SourceKey
