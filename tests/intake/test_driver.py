"""Output of drivers' tools: every published trial, plain tables and headers, and text that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackfit.errors import UsageError
from rackfit.intake.driver.found import DriverOutput, FoundDevice
from rackfit.intake.driver.reading import read_devices

TRIALS = Path(__file__).parents[1] / "reference" / "trials"
GIB, MIB = 2**30, 2**20


def trial(name: str) -> DriverOutput:
    """Read the output of a trial."""
    return read_devices((TRIALS / name).read_text(encoding="utf-8"))


def mib(size: int | None) -> float | None:
    """Return MiB."""
    return None if size is None else size / MIB


def test_r096_mig_slices_are_the_devices() -> None:
    """R096: three devices of 19,968 MiB, 14,366, 9,826 and 13 used; no peer-to-peer between them."""
    output = trial("R096.txt")
    assert [(mib(one.total_bytes), mib(one.used_bytes)) for one in output.devices] == [
        (19_968, 14_366),
        (19_968, 9_826),
        (19_968, 13),
    ]
    assert {(one.kind, one.parent) for one in output.devices} == {("mig_slice", "1")}
    assert "no peer-to-peer" in output.notes[0]


def test_r098_virtual_gpu_is_no_card() -> None:
    """R098: a field that is not available, then 24,576 MiB and a vGPU profile: no card of the catalog."""
    output = trial("R098.csv")
    (device,) = output.devices
    assert (device.name, device.kind, mib(device.total_bytes)) == ("NVIDIA H100L-2-24C", "vgpu", 24_576)
    assert device.used_bytes is None and device.room_bytes is None
    assert "virtual GPU" in output.notes[0]


def test_r100_process_memory_is_unknown() -> None:
    """R100: 16,376 MiB, 14,360 used, 2,016 free; the processes' memory is not available and is not 0."""
    output = trial("R100.csv")
    (device,) = output.devices
    assert (device.name, mib(device.total_bytes)) == ("NVIDIA GeForce RTX 4070 Ti SUPER", 16_376)
    assert (mib(device.used_bytes), mib(device.room_bytes)) == (14_360, 2_016)
    assert any("process" in note for note in output.notes)


def test_r102_sizes_are_text() -> None:
    """R102: 21,458,059,264 B = 20,464 MiB, 26.6 MiB used."""
    (device,) = trial("R102.json").devices
    assert device.name == "Radeon RX 7900 XT"
    assert device.total_bytes == 21_458_059_264 and mib(device.total_bytes) == 20_464
    assert mib(device.used_bytes) == pytest.approx(26.6, abs=0.05)
    assert not device.unified


def test_r104_one_pool_never_added() -> None:
    """R104: 96 GiB for the GPU and 31 GiB for the system: the target is 96, not 31 and not 127."""
    output = trial("R104.txt")
    (device,) = output.devices
    assert device.target_bytes == 96 * GIB
    assert (output.system_bytes or 0) / GIB == pytest.approx(30.98, abs=0.01)
    assert device.unified


def test_small_carve_out_counts_the_mapped_pool() -> None:
    """Where the carve-out is small, the mapped (GTT) pool is what a model gets (R104's second case)."""
    text = (TRIALS / "R104.txt").read_text(encoding="utf-8").replace("103079215104", "536870912")
    assert read_devices(text).devices[0].target_bytes == 16_631_123_968


def test_mapped_memory_of_a_card_does_not_count() -> None:
    """A card in a slot has its own memory, whatever the driver can map beside it."""
    text = (
        (TRIALS / "R104.txt").read_text(encoding="utf-8").replace("103079215104", "536870912").replace("1151", "1100")
    )
    assert read_devices(text).devices[0].target_bytes == 536_870_912


def test_r106_devices_of_an_engine() -> None:
    """R106: names with brackets, and what each device reports free."""
    output = trial("R106.log")
    assert [(one.index, mib(one.free_bytes)) for one in output.devices] == [("Vulkan0", 23_607), ("Vulkan1", 19_491)]


TABLE = """\
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   30C    P0              62W / 400W |      4MiB / 81920MiB |      0%      Default |
|                                         |                      |             Disabled |
|   1  NVIDIA A100-SXM4-40GB          On  | 00000000:0F:00.0 Off |                   On |
| N/A   31C    P0              60W / 400W |  24205MiB / 40960MiB |     N/A      Default |
"""


def test_a_card_in_slices_is_not_usable_as_one() -> None:
    """With the MIG table below it, the parent is shown and not usable; the other card is."""
    output = read_devices(TABLE + (TRIALS / "R096.txt").read_text(encoding="utf-8"))
    cards: list[FoundDevice] = [one for one in output.devices if one.kind == "card"]
    assert [(one.name, one.usable, mib(one.total_bytes)) for one in cards] == [
        ("NVIDIA A100-SXM4-80GB", True, 81_920),
        ("NVIDIA A100-SXM4-40GB", False, 40_960),
    ]
    assert len(output.devices) == 5


def test_query_with_a_header() -> None:
    """With its header the columns say themselves what they are."""
    text = "index, name, memory.free [MiB], memory.total [MiB]\n0, NVIDIA L4, 22000 MiB, 23034 MiB\n"
    (device,) = read_devices(text).devices
    assert (device.index, mib(device.total_bytes), mib(device.room_bytes)) == ("0", 23_034, 22_000)


@pytest.mark.parametrize("text", ["", "hello", "a,b\n1,2", "{}", '{"card0": 3}', "{" * 50, "[N/A], [N/A]"])
def test_what_lists_no_device_is_one_line(text: str) -> None:
    """Anything else is refused in one line that names the tools."""
    with pytest.raises(UsageError, match="understood are"):
        read_devices(text)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text is a failure of another kind."""
    try:
        assert read_devices(text).devices
    except UsageError as error:
        assert "\n" not in str(error)
