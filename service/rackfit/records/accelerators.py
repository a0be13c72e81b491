"""Accelerators: one record per device and memory variant, as its makers and drivers describe it.

What the arithmetic uses (memory for fits, bandwidth of on-chip memory, sparse totals) is derived from these facts in
`catalog/rows/hardware.py`; a record holds only what somebody stated.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rackfit.records.base import Count, Part, PartialDate, Positive, PositiveCount, Record, SourceKey, Text

Segment = Literal["datacenter", "workstation", "consumer", "laptop", "unified", "edge", "tpu_asic"]
Status = Literal["released", "announced"]
MemoryUnit = Literal["GB label", "GB label, binary on card", "GB label, GiB in vendor table", "GiB"]
ComputeUnit = Literal["SM", "CU", "TensorCore", "NeuronCore", "GPU core", "Xe core", "core"]
RateName = Literal["fp64", "fp64_tensor", "fp32", "tf32", "fp16", "fp16_fp16acc", "bf16", "fp8", "int8", "fp4", "int4"]
RateBasis = Literal["published", "halved from sparse", "derived", "second source", "conflict"]
ComputeCapability = Annotated[str, StringConstraints(pattern=r"^(\d{1,2}\.\d|gfx[0-9a-f]{3,4}|Metal)$")]
SliceName = Annotated[str, StringConstraints(pattern=r"^\dg\.\d+gb(\+[a-z.]+)?$")]

TERA_LIMIT = 1e6
"""No device reaches 10^18 operations per second: a larger figure is a wrong unit."""
BANDWIDTH_LIMIT_GB_S = 1e8
"""On-chip SRAM of a whole wafer reaches 2.1e7 GB/s; anything above 1e8 is bytes, not GB."""
MEMORY_LIMIT_GB = 4096


class Rate(Part):
    """Peak operations per second of one number format, in units of 10^12."""

    dense_tflops: Annotated[float, Field(gt=0, lt=TERA_LIMIT)] | None = None
    sparse_tflops: Annotated[float, Field(gt=0, lt=TERA_LIMIT)] | None = None
    basis: RateBasis

    @model_validator(mode="after")
    def _something_is_stated(self) -> Self:
        if self.dense_tflops is None and self.sparse_tflops is None:
            raise ValueError("a dense or a sparse figure")
        return self


class UsableMemory(Part):
    """What a driver or runtime reports as usable, for one RAM size, system and setting."""

    os: Text
    os_version: Text | None = None
    setting: Text
    ram_gb: Positive | None = None
    usable_bytes: PositiveCount
    printed: Text
    date: PartialDate | None = None
    source: SourceKey


class MigProfile(Part):
    """One way to cut the device into isolated instances."""

    profile: SliceName
    memory_gb: Positive
    compute_slices: PositiveCount
    max_instances: PositiveCount
    source: SourceKey


class Accelerator(Record):
    """One device and memory variant."""

    name: Text
    vendor: Text
    aliases: list[Text] = []
    architecture: Text | None = None
    form_factor: Text
    segment: Segment
    status: Status
    unified_memory: bool
    announced_date: PartialDate | None = None
    available_date: PartialDate | None = None
    launch_date: PartialDate | None = None

    memory_gb: Annotated[float, Field(gt=0, le=MEMORY_LIMIT_GB)] | None = None
    memory_unit_label: MemoryUnit | None = None
    memory_options_gb: list[Positive] = []
    memory_type: Text | None = None
    memory_bus_bits: PositiveCount | None = None
    memory_bandwidth_gb_s: Annotated[float, Field(gt=0, lt=BANDWIDTH_LIMIT_GB_S)] | None = None
    usable_memory_bytes: PositiveCount | None = None

    tdp_w: Annotated[float, Field(gt=0, lt=50_000)] | None = None
    compute_units: PositiveCount | None = None
    compute_unit_kind: ComputeUnit | None = None
    boost_clock_mhz: Annotated[float, Field(gt=0, lt=10_000)] | None = None
    l2_cache_mb: Positive | None = None
    l1_shared_kb_per_unit: Positive | None = None
    shared_max_kb_per_unit: Positive | None = None
    registers_kb_per_unit: Positive | None = None
    compute_capability: ComputeCapability | None = None

    pcie: Text | None = None
    scaleup_interconnect: Text | None = None
    scaleup_links: PositiveCount | None = None
    scaleup_max_devices: PositiveCount | None = None
    scaleup_total_bidir_gb_s: Positive | None = None
    mig_max_instances: PositiveCount | None = None
    partition_modes: Text | None = None

    supports_bf16: bool | None = None
    supports_fp8: bool | None = None
    supports_fp4: bool | None = None
    supports_int4_matrix: bool | None = None

    msrp_usd: Count | None = None
    msrp_basis: Text | None = None
    rates_note: Text | None = None

    rates: dict[RateName, Rate] = {}
    usable_memory: list[UsableMemory] = []
    mig_profiles: list[MigProfile] = []

    @model_validator(mode="after")
    def _says_what_is_missing(self) -> Self:
        for field in ("memory_gb", "memory_bandwidth_gb_s"):
            if getattr(self, field) is None and (field not in self.unknown or self.note is None):
                raise ValueError(f"{field}, or {field} under unknown with a note that says why")
        return self

    @model_validator(mode="after")
    def _memory_is_described(self) -> Self:
        if self.memory_gb is not None and self.memory_unit_label is None:
            raise ValueError("memory_unit_label beside memory_gb: a label without a unit is not a size")
        if self.mig_profiles and self.mig_max_instances is None:
            raise ValueError("mig_max_instances beside mig_profiles")
        return self
