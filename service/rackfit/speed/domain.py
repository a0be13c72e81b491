"""What the arithmetic of speed works on: chips, efficiencies with their evidence, figures with a range."""

from __future__ import annotations

from dataclasses import dataclass, field

BOUND, ESTIMATE = "bound", "estimate"
"""A bound follows from printed rates and cannot be passed; an estimate is what measured engines come to."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One accelerator as a question of speed sees it. None: not on record."""

    accelerator_id: str
    name: str
    memory_class: str
    """hbm | gddr | unified."""
    bandwidth_gb_s: float | None
    inline_ecc: bool
    """Error correction is kept in the same memory, and on as shipped (GDDR of data-centre cards)."""
    units: int | None
    unit_kind: str | None
    rates: dict[str, float] = field(default_factory=dict, compare=False)
    """Dense peak by name of the precision, TFLOPS."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """How near one engine comes on one class of memory; fields as in data/efficiencies. Times in milliseconds."""

    efficiency_id: str
    engine_name: str
    memory_class: str
    precision_family: str
    kernel: str | None
    bandwidth_share: float
    ecc_share: float | None
    unit_gb_s: float | None
    unit_kind: str | None
    layer_ms: float
    moe_layer_ms: float | None
    """None where no measured case has experts."""
    handover_ms: float
    all_reduce_ms: float
    all_reduce_step_ms: float
    host_layer_ms: float
    head_cache_gb_s: float | None
    spread_below: float
    spread_above: float
    case_count: int
    measured_on: str

    @property
    def devices(self) -> frozenset[str]:
        """Ids of the devices that it was measured on."""
        return frozenset(name.strip() for name in self.measured_on.split(","))


@dataclass(frozen=True, slots=True)
class Chosen:
    """An efficiency taken for a question, its spread, and why the spread is wider than its own."""

    efficiency: Efficiency
    below: float
    above: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranged:
    """A figure with its range."""

    value: float
    low: float
    high: float
