"""Systems: servers, racks, desktops and cloud instances that hold accelerators, with what a buyer needs to know."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rackfit.records.base import Part, PartialDate, Positive, PositiveCount, Record, Slug, SourceKey, Text

SystemKind = Literal[
    "server",
    "rack",
    "baseboard",
    "workstation",
    "desktop",
    "laptop",
    "edge",
    "cloud instance",
    "cloud slice",
    "cloud cluster unit",
]
Cooling = Literal["air", "liquid", "hybrid", "passive"]
RamUnit = Literal["GB label", "GiB", "GB label, unified"]
PeerToPeer = Literal["yes", "no", "driver-limited"]


class SystemFact(Part):
    """A fact outside the common fields."""

    field: Text
    value: Text
    unit: Text | None = None
    source: SourceKey
    date: PartialDate | None = None
    confidence: Literal["high", "medium", "low"]
    note: Text | None = None


class System(Record):
    """One product or instance type. Power, size and weight are of the whole system unless a field note says rack."""

    name: Text
    provider: Text
    aliases: list[Text] = []
    kind: SystemKind
    accelerator: Slug
    accelerator_count: PositiveCount
    intra_node_link: Text | None = None
    interconnect: Slug | None = None
    inter_node_gbps: Positive | None = None

    cpu: Text | None = None
    cpu_sockets: PositiveCount | None = None
    vcpus: PositiveCount | None = None
    host_ram_gb: Positive | None = None
    host_ram_unit: RamUnit | None = None
    ram_channels: PositiveCount | None = None
    ram_mt_s: PositiveCount | None = None
    ram_bandwidth_gb_s: Positive | None = None
    nvme_tb: Positive | None = None
    nvme_boot_tb: Positive | None = None
    nic_model: Text | None = None
    nic_count: PositiveCount | None = None
    nic_per_direction_gb_s: Positive | None = None
    pcie_generation: PositiveCount | None = None
    pcie_lanes: PositiveCount | None = None
    pcie_topology: Text | None = None
    nvlink_topology: Text | None = None
    peer_to_peer: PeerToPeer | None = None
    scale_up_domain_size: PositiveCount | None = None
    max_accelerators: PositiveCount | None = None

    max_power_w: Annotated[float, Field(gt=0, lt=1e7)] | None = None
    typical_power_w: Annotated[float, Field(gt=0, lt=1e7)] | None = None
    psu_count: PositiveCount | None = None
    psu_w: Positive | None = None
    cooling: Cooling | None = None
    rack_units: Positive | None = None
    height_mm: Positive | None = None
    width_mm: Positive | None = None
    depth_mm: Positive | None = None
    weight_kg: Positive | None = None
    operating_temp_min_c: float | None = None
    operating_temp_max_c: float | None = None

    low_confidence: list[str] = []
    field_notes: dict[str, Text] = {}
    facts_beside: list[SystemFact] = []

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """Return the names of the fields that are about the record; each fact beside carries its own source."""
        return super().bookkeeping() | {"low_confidence", "field_notes", "facts_beside"}

    @model_validator(mode="after")
    def _marks_name_fields(self) -> Self:
        for listed in ("low_confidence", "field_notes"):
            for name in getattr(self, listed):
                if name not in self.facts():
                    raise ValueError(f"{listed} names {name!r}, which is not a field of this record")
        if self.host_ram_gb is not None and self.host_ram_unit is None:
            raise ValueError("host_ram_unit beside host_ram_gb")
        return self


class SystemPower(BaseModel):
    """Wall power of a whole system under one benchmark, as a power analyser recorded it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    round: Text
    submitter: Text
    system_name: Text
    accelerator: Slug
    accelerators_per_node: PositiveCount
    nodes: PositiveCount
    cooling: Cooling | None = None
    mode: Literal["as submitted", "power-capped"]
    benchmark: Text
    scenario: Text
    lowest_w: Positive
    load_mean_w: Positive
    p95_w: Positive
    peak_w: Positive
    samples: PositiveCount
    source: SourceKey
    date: PartialDate
    path_in_repository: Text
    file: str
    origin: str
