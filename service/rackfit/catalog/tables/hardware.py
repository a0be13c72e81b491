"""Hardware as tables. Same columns as migrations/m0002_hardware.py."""

from __future__ import annotations

from sqlalchemy import REAL, Integer, Text
from sqlmodel import Field, SQLModel


class InterconnectRow(SQLModel, table=True):
    """One kind and generation of link, with the rates that one device or port gets from it."""

    __tablename__ = "interconnects"
    __table_args__ = ({"sqlite_strict": True},)

    interconnect_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    family: str = Field(sa_type=Text)
    generation: str | None = Field(default=None, sa_type=Text)
    lanes_or_links: int | None = Field(default=None, sa_type=Integer)
    per_link_per_direction_gb_s: float | None = Field(default=None, sa_type=REAL)
    per_direction_gb_s: float | None = Field(default=None, sa_type=REAL)
    total_gb_s: float | None = Field(default=None, sa_type=REAL)
    measured_gb_s: float | None = Field(default=None, sa_type=REAL)
    measured_what: str | None = Field(default=None, sa_type=Text)
    signalling: str | None = Field(default=None, sa_type=Text)
    topology: str | None = Field(default=None, sa_type=Text)
    scope: str = Field(sa_type=Text)
    latency_class: str | None = Field(default=None, sa_type=Text)
    second_hand: int = Field(sa_type=Integer)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class AcceleratorRow(SQLModel, table=True):
    """One device and memory variant. Columns fit_memory_* are derived, all others are stated."""

    __tablename__ = "accelerators"
    __table_args__ = ({"sqlite_strict": True},)

    accelerator_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    vendor: str = Field(sa_type=Text)
    architecture: str | None = Field(default=None, sa_type=Text)
    form_factor: str = Field(sa_type=Text)
    segment: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    announced_date: str | None = Field(default=None, sa_type=Text)
    available_date: str | None = Field(default=None, sa_type=Text)
    launch_date: str | None = Field(default=None, sa_type=Text)
    memory_gb: float | None = Field(default=None, sa_type=REAL)
    memory_unit_label: str | None = Field(default=None, sa_type=Text)
    memory_options_gb: str | None = Field(default=None, sa_type=Text)
    memory_type: str | None = Field(default=None, sa_type=Text)
    memory_bus_bits: int | None = Field(default=None, sa_type=Integer)
    memory_bandwidth_gb_s: float | None = Field(default=None, sa_type=REAL)
    usable_memory_bytes: int | None = Field(default=None, sa_type=Integer)
    fit_memory_bytes: int | None = Field(default=None, sa_type=Integer)
    fit_memory_rule: str | None = Field(default=None, sa_type=Text)
    fit_memory_spread: float | None = Field(default=None, sa_type=REAL)
    unified_memory: int = Field(sa_type=Integer)
    tdp_w: float | None = Field(default=None, sa_type=REAL)
    compute_units: int | None = Field(default=None, sa_type=Integer)
    compute_unit_kind: str | None = Field(default=None, sa_type=Text)
    boost_clock_mhz: float | None = Field(default=None, sa_type=REAL)
    l2_cache_mb: float | None = Field(default=None, sa_type=REAL)
    l1_shared_kb_per_unit: float | None = Field(default=None, sa_type=REAL)
    shared_max_kb_per_unit: float | None = Field(default=None, sa_type=REAL)
    registers_kb_per_unit: float | None = Field(default=None, sa_type=REAL)
    compute_capability: str | None = Field(default=None, sa_type=Text)
    pcie: str | None = Field(default=None, sa_type=Text)
    scaleup_interconnect: str | None = Field(default=None, sa_type=Text)
    scaleup_links: int | None = Field(default=None, sa_type=Integer)
    scaleup_max_devices: int | None = Field(default=None, sa_type=Integer)
    scaleup_total_bidir_gb_s: float | None = Field(default=None, sa_type=REAL)
    multi_device: int = Field(sa_type=Integer)
    mig_max_instances: int | None = Field(default=None, sa_type=Integer)
    partition_modes: str | None = Field(default=None, sa_type=Text)
    supports_bf16: int | None = Field(default=None, sa_type=Integer)
    supports_fp8: int | None = Field(default=None, sa_type=Integer)
    supports_fp4: int | None = Field(default=None, sa_type=Integer)
    supports_int4_matrix: int | None = Field(default=None, sa_type=Integer)
    msrp_usd: int | None = Field(default=None, sa_type=Integer)
    msrp_basis: str | None = Field(default=None, sa_type=Text)
    rates_note: str | None = Field(default=None, sa_type=Text)
    second_hand: int = Field(sa_type=Integer)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)


class AcceleratorRateRow(SQLModel, table=True):
    """Peak operations per second of one number format on one accelerator."""

    __tablename__ = "accelerator_rates"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    accelerator_id: str = Field(sa_type=Text, primary_key=True, foreign_key="accelerators.accelerator_id")
    precision_name: str = Field(sa_type=Text, primary_key=True)
    dense_tflops: float | None = Field(default=None, sa_type=REAL)
    sparse_tflops: float | None = Field(default=None, sa_type=REAL)
    basis: str = Field(sa_type=Text)


class MemoryLevelRow(SQLModel, table=True):
    """One level of an accelerator's memory hierarchy."""

    __tablename__ = "memory_levels"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    accelerator_id: str = Field(sa_type=Text, primary_key=True, foreign_key="accelerators.accelerator_id")
    level: str = Field(sa_type=Text, primary_key=True)
    capacity_bytes: int | None = Field(default=None, sa_type=Integer)
    scope: str = Field(sa_type=Text)
    bandwidth_gb_s: float | None = Field(default=None, sa_type=REAL)
    basis: str = Field(sa_type=Text)


class UsableMemoryRow(SQLModel, table=True):
    """What drivers and runtimes report as usable, by RAM size, operating system and setting."""

    __tablename__ = "usable_memory"
    __table_args__ = ({"sqlite_strict": True},)

    usable_memory_id: int = Field(sa_type=Integer, primary_key=True)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    ram_gb: float | None = Field(default=None, sa_type=REAL)
    os: str = Field(sa_type=Text)
    os_version: str | None = Field(default=None, sa_type=Text)
    setting: str = Field(sa_type=Text)
    usable_bytes: int = Field(sa_type=Integer)
    printed: str = Field(sa_type=Text)
    date: str | None = Field(default=None, sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")


class MigProfileRow(SQLModel, table=True):
    """One way to cut an accelerator into isolated instances. Columns fit_memory_* are derived."""

    __tablename__ = "mig_profiles"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    accelerator_id: str = Field(sa_type=Text, primary_key=True, foreign_key="accelerators.accelerator_id")
    profile: str = Field(sa_type=Text, primary_key=True)
    memory_gb: float = Field(sa_type=REAL)
    compute_slices: int = Field(sa_type=Integer)
    max_instances: int = Field(sa_type=Integer)
    fit_memory_bytes: int | None = Field(default=None, sa_type=Integer)
    fit_memory_rule: str | None = Field(default=None, sa_type=Text)
    fit_memory_spread: float | None = Field(default=None, sa_type=REAL)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")


class SystemRow(SQLModel, table=True):
    """A server, rack, desktop or cloud instance that holds accelerators."""

    __tablename__ = "systems"
    __table_args__ = ({"sqlite_strict": True},)

    system_id: str = Field(sa_type=Text, primary_key=True)
    name: str = Field(sa_type=Text)
    provider: str = Field(sa_type=Text)
    kind: str = Field(sa_type=Text)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    accelerator_count: int = Field(sa_type=Integer)
    accelerator_memory_gb: float | None = Field(default=None, sa_type=REAL)
    intra_node_link: str | None = Field(default=None, sa_type=Text)
    interconnect_id: str | None = Field(default=None, sa_type=Text, foreign_key="interconnects.interconnect_id")
    inter_node_gbps: float | None = Field(default=None, sa_type=REAL)
    cpu: str | None = Field(default=None, sa_type=Text)
    cpu_sockets: int | None = Field(default=None, sa_type=Integer)
    vcpus: int | None = Field(default=None, sa_type=Integer)
    host_ram_gb: float | None = Field(default=None, sa_type=REAL)
    host_ram_unit: str | None = Field(default=None, sa_type=Text)
    ram_channels: int | None = Field(default=None, sa_type=Integer)
    ram_mt_s: int | None = Field(default=None, sa_type=Integer)
    ram_bandwidth_gb_s: float | None = Field(default=None, sa_type=REAL)
    ram_bandwidth_basis: str | None = Field(default=None, sa_type=Text)
    nvme_tb: float | None = Field(default=None, sa_type=REAL)
    nvme_boot_tb: float | None = Field(default=None, sa_type=REAL)
    nic_model: str | None = Field(default=None, sa_type=Text)
    nic_count: int | None = Field(default=None, sa_type=Integer)
    nic_per_direction_gb_s: float | None = Field(default=None, sa_type=REAL)
    pcie_generation: int | None = Field(default=None, sa_type=Integer)
    pcie_topology: str | None = Field(default=None, sa_type=Text)
    nvlink_topology: str | None = Field(default=None, sa_type=Text)
    peer_to_peer: str | None = Field(default=None, sa_type=Text)
    scale_up_domain_size: int | None = Field(default=None, sa_type=Integer)
    topology_basis: str | None = Field(default=None, sa_type=Text)
    max_accelerators: int | None = Field(default=None, sa_type=Integer)
    pcie_lanes: int | None = Field(default=None, sa_type=Integer)
    bridge_group: int | None = Field(default=None, sa_type=Integer)
    max_power_w: float | None = Field(default=None, sa_type=REAL)
    typical_power_w: float | None = Field(default=None, sa_type=REAL)
    psu_count: int | None = Field(default=None, sa_type=Integer)
    psu_w: float | None = Field(default=None, sa_type=REAL)
    cooling: str | None = Field(default=None, sa_type=Text)
    rack_units: float | None = Field(default=None, sa_type=REAL)
    height_mm: float | None = Field(default=None, sa_type=REAL)
    width_mm: float | None = Field(default=None, sa_type=REAL)
    depth_mm: float | None = Field(default=None, sa_type=REAL)
    weight_kg: float | None = Field(default=None, sa_type=REAL)
    operating_temp_min_c: float | None = Field(default=None, sa_type=REAL)
    operating_temp_max_c: float | None = Field(default=None, sa_type=REAL)
    second_hand: int = Field(sa_type=Integer)
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)
    origin: str = Field(default="release", sa_type=Text)


class SystemFactRow(SQLModel, table=True):
    """Facts about a system whose source, confidence or meaning needs saying, one per row."""

    __tablename__ = "system_facts"
    __table_args__ = ({"sqlite_strict": True, "sqlite_with_rowid": False},)

    system_id: str = Field(sa_type=Text, primary_key=True, foreign_key="systems.system_id")
    fact_index: int = Field(sa_type=Integer, primary_key=True)
    field: str = Field(sa_type=Text)
    value: str = Field(sa_type=Text)
    unit: str | None = Field(default=None, sa_type=Text)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    confidence: str = Field(sa_type=Text)
    note: str | None = Field(default=None, sa_type=Text)


class SystemPowerRow(SQLModel, table=True):
    """Measured wall power of whole systems under benchmark load."""

    __tablename__ = "system_power"
    __table_args__ = ({"sqlite_strict": True},)

    power_id: int = Field(sa_type=Integer, primary_key=True)
    round: str = Field(sa_type=Text)
    submitter: str = Field(sa_type=Text)
    system_name: str = Field(sa_type=Text)
    accelerator_id: str = Field(sa_type=Text, foreign_key="accelerators.accelerator_id")
    accelerators_per_node: int = Field(sa_type=Integer)
    nodes: int = Field(sa_type=Integer)
    cooling: str | None = Field(default=None, sa_type=Text)
    mode: str = Field(sa_type=Text)
    benchmark: str = Field(sa_type=Text)
    scenario: str = Field(sa_type=Text)
    lowest_w: float = Field(sa_type=REAL)
    load_mean_w: float = Field(sa_type=REAL)
    p95_w: float = Field(sa_type=REAL)
    peak_w: float = Field(sa_type=REAL)
    samples: int = Field(sa_type=Integer)
    source_id: str = Field(sa_type=Text, foreign_key="sources.source_id")
    date: str = Field(sa_type=Text)
    path_in_repository: str = Field(sa_type=Text)
