"""Memory a device offers: known prints, and the rules for devices without one."""

from __future__ import annotations

import pytest

from rackfit.memory.device_memory import GIB, Label, Report, device_memory, mig_memory, unified_memory

MIB = 2**20


def label(**changes: object) -> Label:
    """Return the label of an 80 GB H100 without a driver print, with changes."""
    facts: dict[str, object] = {
        "vendor": "NVIDIA",
        "segment": "datacenter",
        "memory_gb": 80.0,
        "memory_unit_label": "GB label",
        "memory_type": "HBM3",
        "compute_capability": "9.0",
        "unified": False,
        "usable_bytes": None,
    }
    return Label(**{**facts, **changes})  # type: ignore[arg-type]


PRINTS = [
    ("H100 80GB", {}, 81559),
    ("H200 141GB", {"memory_gb": 141.0, "memory_type": "HBM3e"}, 143771),
    ("B200 180GB", {"memory_gb": 180.0, "memory_type": "HBM3e", "compute_capability": "10.0"}, 183359),
    ("A100 40GB", {"memory_gb": 40.0, "memory_type": "HBM2", "compute_capability": "8.0"}, 40960),
    ("L40S with ECC", {"memory_gb": 48.0, "memory_type": "GDDR6", "compute_capability": "8.9"}, 46068),
    ("T4 with ECC", {"memory_gb": 16.0, "memory_type": "GDDR6", "compute_capability": "7.5"}, 15360),
    (
        "RTX 4090",
        {"memory_gb": 24.0, "memory_type": "GDDR6X", "compute_capability": "8.9", "segment": "consumer"},
        24564,
    ),
    (
        "RTX 5090",
        {"memory_gb": 32.0, "memory_type": "GDDR7", "compute_capability": "12.0", "segment": "consumer"},
        32607,
    ),
    ("MI300X", {"vendor": "AMD", "memory_gb": 192.0, "compute_capability": "gfx942"}, 196592),
    (
        "RX 7900 XTX",
        {
            "vendor": "AMD",
            "memory_gb": 24.0,
            "memory_type": "GDDR6",
            "compute_capability": "gfx1100",
            "segment": "consumer",
        },
        24560,
    ),
]
"""What nvidia-smi and rocm-smi print for these cards, in MiB (public driver output)."""


@pytest.mark.parametrize(("name", "changes", "mib"), PRINTS)
def test_derived_memory_covers_the_print(name: str, changes: dict[str, object], mib: int) -> None:
    """Had the print not been known, the rule's range would hold it."""
    memory = device_memory(label(**changes))

    assert memory is not None
    assert memory.rule != "printed"
    assert abs(memory.bytes / (mib * MIB) - 1) <= memory.spread, name


def test_print_wins() -> None:
    """The driver's total is taken as it is, without spread."""
    memory = device_memory(label(usable_bytes=81559 * MIB))

    assert memory is not None
    assert (memory.bytes, memory.rule, memory.spread) == (81559 * MIB, "printed", 0.0)


def test_unknown_unit_covers_both_readings() -> None:
    """Where nothing says what GB means, 10^9 and 2^30 both lie inside the spread."""
    memory = device_memory(label(vendor="Tenstorrent", memory_gb=32.0, memory_type="GDDR6", compute_capability=None))

    assert memory is not None
    for reading in (32e9, 32 * GIB):
        assert abs(reading / memory.bytes - 1) <= memory.spread


def test_no_label_no_memory() -> None:
    """A device whose memory nobody states has none to fit against."""
    assert device_memory(label(memory_gb=None, memory_unit_label=None)) is None


@pytest.mark.parametrize(
    ("ram", "newer_mib", "older_mib"),
    [(16, 12124, 10922), (32, 25558, 21845), (48, 38338, 36864), (64, 53084, 49152), (128, 110100, 98304)],
)
def test_apple_limit_covers_both_systems(ram: int, newer_mib: int, older_mib: int) -> None:
    """The default limit is the one llama.cpp prints on macOS 26; older systems' lower limit lies inside the spread."""
    memory = unified_memory("Apple", ram)

    assert memory.bytes == pytest.approx(newer_mib * MIB, rel=0.002)
    assert abs(older_mib * MIB / memory.bytes - 1) <= memory.spread + 0.001


def test_apple_report_of_the_chip_is_taken() -> None:
    """A report for this chip, RAM and system beats the table by RAM size."""
    report = Report(128.0, "macOS", "26 era", "default", 115448725504)
    raised = Report(128.0, "macOS", "26.x", "sysctl iogpu.wired_limit_mb=114688", 120259084288)
    apple = label(vendor="Apple", segment="unified", unified=True, memory_gb=128.0, compute_capability="Metal")

    memory = device_memory(apple, [raised, report])

    assert memory is not None
    assert memory.bytes == 115448725504


def test_mig_slice_of_an_a100() -> None:
    """A 3g.20gb slice of an A100 40GB prints 19968 MiB (nvidia-smi of a MIG machine, nvitop pull request 8)."""
    memory = mig_memory(40960 * MIB, 20, 40)

    assert memory.bytes == pytest.approx(19968 * MIB, rel=1e-6)
