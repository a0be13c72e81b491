"""Precisions: how a number is stored, in blocks with scales, and what a checkpoint in that format keeps wider.

A precision is a layout, not a number of bits: two 4-bit formats differ by their scales, and a checkpoint in either
keeps embeddings, norms and routers in 16 bits. Weight formats, cache formats and compute formats are one kind of
record; `use` tells them apart.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from rackfit.records.base import Positive, PositiveCount, Record, Slug, Text

PrecisionCategory = Literal[
    "float", "float8", "mx", "nvfp4", "int8", "int4", "int3", "gguf", "gguf_mix", "hqq", "exl2", "exl3",
    "codebook", "ternary", "mlx", "kv_cache", "composite",
]  # fmt: skip
PrecisionFamily = Literal[
    "fp", "fp8", "fp6", "fp4", "int8", "int4", "int3", "bnb", "gguf", "hqq", "exl", "codebook", "ternary", "mlx",
]  # fmt: skip
Role = Literal[
    "embedding", "head", "norms", "router", "vision", "attention_qo", "attention_kv", "attention_mla_down",
    "attention_mla_up", "mixer", "ffn", "experts", "shared_experts", "indexer", "per_layer_embedding", "other",
]  # fmt: skip
"""Tensor roles: the closed list by which weights are charged."""
BitsBasis = Literal["block", "formula", "measured", "nominal"]


class Precision(Record):
    """One storage or compute format."""

    name: Text
    aliases: list[Text] = []
    category: PrecisionCategory
    family: PrecisionFamily
    use: Literal["weight", "kv", "compute"]
    nominal_bits: Positive | None = None
    effective_bits: Positive | None = None
    effective_bits_basis: BitsBasis | None = None
    block_size: PositiveCount | None = None
    block_rows: PositiveCount | None = None
    block_bytes: PositiveCount | None = None
    scale_format: Text | None = None
    scale_bits_per_block: PositiveCount | None = None
    zero_point_bits: int | None = None
    extra_per_tensor: Text | None = None
    high_precision_roles: list[Role] = []
    high_precision_bits: Positive | None = None
    role_bits: dict[Role, Positive] = {}
    shard_multiple: PositiveCount | None = None
    support_as: Slug | None = None
    min_nvidia_cc: Text | None = None
    min_nvidia_cc_weight_only: Text | None = None
    min_amd_arch: Text | None = None
    hardware_note: Text | None = None
    typical_use: Text | None = None
    formula: Text | None = None
    example: Text | None = None

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """Leave out of the facts what is our own bookkeeping: class names and how a value was reached."""
        return super().bookkeeping() | {"name", "category", "family", "use", "effective_bits_basis", "support_as"}

    @property
    def block_bits(self) -> float | None:
        """Return bits per value that the block layout implies, or None where the layout is not known."""
        if self.block_size is None or self.block_bytes is None:
            return None
        return self.block_bytes * 8 / (self.block_size * (self.block_rows or 1))

    @model_validator(mode="after")
    def _bits_agree(self) -> Self:
        if (self.effective_bits is None) != (self.effective_bits_basis is None):
            raise ValueError("effective_bits and effective_bits_basis come together")
        if self.effective_bits_basis == "block":
            if self.block_bits is None:
                raise ValueError("effective_bits from a block needs block_size and block_bytes")
            if abs(self.block_bits - (self.effective_bits or 0.0)) > 1e-5:
                raise ValueError(f"effective_bits must be {self.block_bits:.6f}, as block_bytes and block_size say")
        if self.high_precision_roles and self.high_precision_bits is None:
            raise ValueError("high_precision_roles needs high_precision_bits")
        if both := sorted(set(self.high_precision_roles) & set(self.role_bits)):
            raise ValueError(f"a role is either in high_precision_roles or in role_bits: {', '.join(both)}")
        if self.use == "weight" and self.effective_bits is None and "effective_bits" not in self.unknown:
            raise ValueError("effective_bits is needed for a weight format, or unknown must list it")
        return self
