"""How much memory a device really offers: the driver's figure where it is known, else a stated rule.

A vendor's "80 GB" is a label. Over the 146 parts of the catalog with both a label and a driver (or runtime) total,
the total divided by the label read as GiB depends only on vendor, memory and generation:

=====================  =========================================  ===============  =====
rule                   parts                                      share of label   known
=====================  =========================================  ===============  =====
nvidia-gddr-ecc        NVIDIA server boards, GDDR, before CC 12   0.9370 - 0.9375     12
nvidia-cc9             NVIDIA, CC 9.0 and later                   0.9948 - 0.9958     32
nvidia-cc8             NVIDIA, before CC 9.0                      0.9995 - 1.0000     74
amd-hbm                AMD with HBM                               0.9995 - 0.9999      7
amd-gddr               AMD with GDDR6                             0.9951 - 0.9993      7
intel-gddr             Intel Arc (low: compute runtime's figure)  0.9413 - 0.9966      8
vendor-gib             others whose vendor counts in GiB          0.9997 - 1.0000      6
=====================  =========================================  ===============  =====

Each rule returns the middle of its range and a spread that covers the range with room (0.002 to 0.03), since a part
whose print nobody published may be the odd one.
Where nothing says whether the label counts 10^9 or 2^30, both readings lie inside the spread. The driver's total is
what `nvidia-smi` and its kind print; what an engine sees is less again (see `memory.stages`).

Unified memory: the share a GPU may take is set by the operating system or the firmware, so the rule is the reported
figure for that RAM size where there is one. Apple's default limit by RAM size is tabled below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GIB = 2**30

UNKNOWN_UNIT_SHARE = (1e9 / GIB + 1) / 2
"""Middle between a label in 10^9 and one in 2^30 bytes."""

UNKNOWN_UNIT_SPREAD = 0.07
"""Covers both readings of the label, and an ECC share on the smaller one."""

APPLE_SHARES = (
    (15, 0.6667, 0.6667),
    (24, 0.74, 0.6667),
    (32, 0.78, 0.6667),
    (36, 0.78, 0.75),
    (48, 0.78, 0.75),
    (64, 0.81, 0.75),
    (1024, 0.84, 0.75),
)
"""(RAM up to this many GiB, default GPU share on macOS 26, share on older systems).

macOS 26: 16 GB 12713 MB, 18 GB 13639 MiB, 24 GB 18185 MiB (0.74); 32 GB 25558, 36 GB 28753, 48 GB 38338 MiB (0.78);
64 GB 55663 MB (0.81); 128 GB 110100 MiB (0.84). Older: 16 to 32 GB two thirds, from 36 GB three quarters
(36 GB 28991.03 MB, 48 GB 36864, 96 GB 73728, 128 GB 98304, 192 GB 147455 MiB). 8 GB: 5460 MiB, two thirds on both.
"""

JETSON_SHARES = ((8, 0.929, 0.01), (16, 0.944, 0.02), (1024, 0.959, 0.01))
"""(RAM, share, spread): CUDA totals of Orin Nano 8 GB 7607 to 7619, AGX Orin 64 GB 62827, T5000 128 GB 125748 MiB."""

MIG_OVERHEAD = 0.975
"""A 3g.20gb slice of an A100 40GB prints 19968 MiB (a user's nvidia-smi): 0.975 of half of 40960."""

MIG_SPREAD = 0.03
"""No other slice's print has been read, hence wide."""


@dataclass(frozen=True, slots=True)
class Label:
    """What the vendor and the driver say about a device's memory."""

    vendor: str
    segment: str
    memory_gb: float | None
    memory_unit_label: str | None
    memory_type: str | None
    compute_capability: str | None
    unified: bool
    usable_bytes: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """A figure that a driver or runtime printed for one RAM size, operating system and setting."""

    ram_gb: float | None
    os: str
    os_version: str | None
    setting: str
    usable_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory for fits in bytes, the rule it follows from, and its relative uncertainty."""

    bytes: int
    rule: str
    spread: float


def device_memory(label: Label, reports: Sequence[Report] = ()) -> DeviceMemory | None:
    """Return the memory that fits are computed against, or None where not even a label is known.

    The first that applies: the driver's total; a report for this RAM size under default settings (unified memory
    and chips whose maker states a byte count); the share of the label that parts of its kind show.
    """
    if label.usable_bytes is not None:
        return DeviceMemory(label.usable_bytes, "printed", 0.0)
    if label.memory_gb is None:
        return None
    reported = _reported(label, reports)
    if reported is not None:
        return reported
    if label.unified and label.segment in ("unified", "edge"):
        return unified_memory(label.vendor, label.memory_gb)
    rule, share, spread = _share(label)
    return DeviceMemory(round(label.memory_gb * GIB * share), rule, spread)


def unified_memory(vendor: str, ram_gb: float) -> DeviceMemory:
    """Return the default GPU share of a machine's RAM in GiB, from reports of other machines of its kind."""
    if vendor == "Apple":
        _, share, older = next(row for row in APPLE_SHARES if ram_gb <= row[0])
        return DeviceMemory(round(ram_gb * GIB * share), "apple-default-limit", round(max(1 - older / share, 0.02), 4))
    if vendor == "NVIDIA":
        _, share, spread = next(row for row in JETSON_SHARES if ram_gb <= row[0])
        return DeviceMemory(round(ram_gb * GIB * share), "jetson-share", spread)
    return DeviceMemory(round(ram_gb * GIB / 2), "half-of-ram", 0.05)


def older_apple_limit(ram_gb: float) -> int:
    """Return the default GPU share of a Mac's RAM before macOS 26, bytes: two thirds, from 36 GB three quarters."""
    older = next(share for size, _, share in APPLE_SHARES if ram_gb <= size)
    exact = 2 / 3 if older < 0.7 else older
    return round(ram_gb * GIB * exact)


def mig_memory(device_bytes: int, profile_gb: float, label_gb: float) -> DeviceMemory:
    """Return the memory of a MIG slice: its number of eighths of the device, less the slice's own overhead."""
    eighths = max(1, round(8 * profile_gb / label_gb))
    return DeviceMemory(round(device_bytes * eighths / 8 * MIG_OVERHEAD), "mig-eighths", MIG_SPREAD)


def _reported(label: Label, reports: Sequence[Report]) -> DeviceMemory | None:
    """Return the middle default report for the label's RAM size, if any; of macOS versions only the newest."""
    fitting = [report for report in reports if report.ram_gb == label.memory_gb and _is_default(report.setting)]
    if label.vendor == "Apple":
        return _reported_apple(label, fitting)
    if not fitting or not (label.unified or _is_constant(fitting[0].setting)):
        return None
    figures = sorted(report.usable_bytes for report in fitting)
    likely = figures[len(figures) // 2]
    spread = max(figures[-1] - likely, likely - figures[0]) / likely
    ceiling = round((label.memory_gb or 0.0) * GIB)
    return DeviceMemory(min(likely, ceiling), "reported default", round(max(spread, 0.005), 4))


def _reported_apple(label: Label, fitting: list[Report]) -> DeviceMemory | None:
    """Return what was printed for this very chip and size, on the newest macOS; it goes before any rule."""
    if not fitting:
        return None
    newest = [report for report in fitting if (report.os_version or "").startswith("26")]
    likely = sorted(report.usable_bytes for report in newest or fitting)[len(newest or fitting) // 2]
    by_rule = unified_memory("Apple", label.memory_gb or 0.0)
    if newest:
        return DeviceMemory(likely, "reported default, macOS 26", by_rule.spread)
    return DeviceMemory(likely, "reported default, before macOS 26", 0.005)


def _is_constant(setting: str) -> bool:
    return setting == "chip constant"


def _is_default(setting: str) -> bool:
    """Whether a report's setting is what a fresh machine has."""
    return setting.startswith("default") or _is_constant(setting)


def _share(label: Label) -> tuple[str, float, float]:
    """Return (rule, share of the label read as GiB, spread) for a part with memory of its own."""
    memory = label.memory_type or ""
    if label.vendor == "NVIDIA" and label.compute_capability:
        return _nvidia_share(label, float(label.compute_capability), memory)
    if label.vendor == "AMD" and memory.startswith("HBM"):
        return "amd-hbm", 0.9997, 0.005
    if label.vendor == "AMD" and memory.startswith("GDDR"):
        return "amd-gddr", 0.9972, 0.005
    if label.vendor == "Intel" and memory.startswith("GDDR"):
        return "intel-gddr", 0.969, 0.03
    if label.memory_unit_label in ("GiB", "GB label, GiB in vendor table") or label.vendor in (
        "Google",
        "Huawei",
        "Intel",
    ):
        return "vendor-gib", 0.9995, 0.01
    return "label-unit-unknown", UNKNOWN_UNIT_SHARE, UNKNOWN_UNIT_SPREAD


def _nvidia_share(label: Label, capability: float, memory: str) -> tuple[str, float, float]:
    if label.segment == "datacenter" and memory.startswith("GDDR") and capability < 12:
        return "nvidia-gddr-ecc", 0.9373, 0.002
    if capability >= 9:
        return "nvidia-cc9", 0.9953, 0.005
    return "nvidia-cc8", 0.99975, 0.005
