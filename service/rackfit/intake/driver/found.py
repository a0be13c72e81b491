"""What a driver's tool says of one device. Bytes as printed; None is not printed or not available."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20
CARD, MIG_SLICE, VGPU = "card", "mig_slice", "vgpu"


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """One device, or one slice of a device."""

    index: str
    name: str | None
    kind: str
    total_bytes: int | None
    used_bytes: int | None = None
    free_bytes: int | None = None
    parent: str | None = None
    """Index of the device that a slice belongs to."""
    usable: bool = True
    """Whether a model can be put on it: a card that is cut into slices is none."""
    shared_bytes: int | None = None
    """Host memory that the driver maps for the device beside its own (GTT)."""
    unified: bool = False
    units: int | None = None
    """Compute units of a slice (NVIDIA's SMs), where the tool prints them."""
    target: str | None = None
    """Instruction set or chip family as the tool prints it (`gfx1151`), which names a chip that has no name there."""

    @property
    def room_bytes(self) -> int | None:
        """Bytes that are free: as printed, else total less used, None where neither is known."""
        if self.free_bytes is not None:
            return self.free_bytes
        if self.total_bytes is None or self.used_bytes is None:
            return None
        return self.total_bytes - self.used_bytes

    @property
    def target_bytes(self) -> int | None:
        """Bytes to fit against: the device's own, or on a shared pool the larger of carve-out and mapped memory."""
        if self.unified and self.shared_bytes is not None and self.total_bytes is not None:
            return max(self.total_bytes, self.shared_bytes)
        return self.total_bytes


@dataclass(frozen=True)
class DriverOutput:
    """The devices of one machine, its RAM where printed, and what had to be assumed or is to be minded."""

    tool: str
    devices: tuple[FoundDevice, ...]
    system_bytes: int | None = None
    notes: tuple[str, ...] = ()
