"""Tools' output to records: sizes decide beside names, and nothing is taken for a card that it is not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rackfit.ask.machines import find_machines
from rackfit.intake.detected import detected
from rackfit.intake.driver.reading import read_devices

TRIALS = Path(__file__).parents[1] / "reference" / "trials"
GIB, MIB = 2**30, 2**20
HEAD = "index, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n"


def answer_to(connection: sqlite3.Connection, text: str) -> dict[str, Any]:
    """Return what is detected in an output."""
    return detected(connection, [read_devices(text)])


def trial(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    """Return what is detected in a trial's output."""
    return answer_to(connection, (TRIALS / name).read_text(encoding="utf-8"))


def query(*rows: tuple[str, int]) -> str:
    """Return nvidia-smi's answer to a query: names and totals in MiB."""
    lines = [f"{index}, {name}, {total} MiB, 4 MiB, {total - 4} MiB" for index, (name, total) in enumerate(rows)]
    return HEAD + "\n".join(lines)


def test_r096_slices_of_a_card_that_is_not_shown(connection: sqlite3.Connection) -> None:
    """R096: three devices of 19,968 MiB; by size 1g to 4g.20gb, by 28 SMs 2g; the card itself is not offered."""
    answer = trial(connection, "R096.txt")

    assert [row["total_bytes"] for row in answer["devices"]] == [19_968 * MIB] * 3
    assert all("3g.20gb" in row["note"] and "2g.20gb" in row["hardware"] for row in answer["devices"])
    assert answer["hardware"].startswith("3x ") and "/2g.20gb" in answer["hardware"]


def test_r098_a_virtual_gpu_is_no_card(connection: sqlite3.Connection) -> None:
    """R098: a vGPU profile of 24,576 MiB maps to no card."""
    answer = trial(connection, "R098.csv")

    assert answer["hardware"] is None
    assert answer["devices"][0]["total_bytes"] == 24_576 * MIB
    assert "virtual GPU" in answer["devices"][0]["note"]


def test_r100_what_is_free_now(connection: sqlite3.Connection) -> None:
    """R100: a RTX 4070 Ti SUPER of 16,376 MiB of which 14,360 are in use: 2,016 MiB are left to fit on."""
    answer = trial(connection, "R100.csv")

    assert answer["hardware"] == "1x nvidia-rtx-4070-ti-super"
    assert answer["free_gib"] == pytest.approx(2_016 / 1024, abs=0.01)


def test_r102_label_and_bytes(connection: sqlite3.Connection) -> None:
    """R102: 21,458,059,264 bytes are the 20 GB card."""
    assert trial(connection, "R102.json")["hardware"] == "1x amd-rx-7900-xt"


def test_r104_what_the_gpu_has(connection: sqlite3.Connection) -> None:
    """R104: a machine of 128 GB with 96 GiB set for the GPU: 96 are usable, neither 31 nor 127."""
    answer = trial(connection, "R104.txt")

    assert answer["hardware"] == "1x amd-ryzen-ai-max-395 128gb"
    assert answer["usable_gib"] == 96


def test_r106_more_than_the_card_has(connection: sqlite3.Connection) -> None:
    """R106: 19,491 MiB free on a card of 12 GB is flagged, and the record's size counts."""
    answer = trial(connection, "R106.log")
    plausible, flagged = answer["devices"]

    assert plausible["accelerator"] == "intel-arc-pro-b60" and plausible["note"] is None
    assert flagged["accelerator"] == "nvidia-rtx-a2000-12gb" and "adds memory of the host" in flagged["note"]


@pytest.mark.parametrize(
    ("name", "total", "expected"),
    # totals as nvidia-smi prints them (usable_memory of the catalog and NVIDIA's own sizes in MiB)
    [
        ("NVIDIA GeForce RTX 5090 Laptop GPU", 24_463, "nvidia-rtx-5090-laptop"),  # R127
        ("GeForce RTX 5090 Max-Q / Mobile", 24_463, "nvidia-rtx-5090-laptop"),  # R127
        ("NVIDIA GeForce RTX 5090", 32_607, "nvidia-rtx-5090"),
        ("NVIDIA GeForce RTX 4060 Ti", 16_380, "nvidia-rtx-4060-ti-16gb"),
        ("NVIDIA GeForce RTX 4060 Ti", 8_188, "nvidia-rtx-4060-ti-8gb"),
        ("NVIDIA GeForce RTX 3080", 10_240, "nvidia-rtx-3080-10gb"),
        ("NVIDIA A100-SXM4-80GB", 81_920, "nvidia-a100-sxm4-80gb"),
        ("NVIDIA H100 80GB HBM3", 81_559, "nvidia-h100-sxm5-80gb"),
        ("NVIDIA A40", 46_068, "nvidia-a40"),  # with ECC
        ("NVIDIA A40", 49_140, "nvidia-a40"),  # without
    ],
)
def test_size_decides_among_cards_of_one_name(
    connection: sqlite3.Connection, name: str, total: int, expected: str
) -> None:
    """One name, several sizes: the printed one says which; ECC's share does not make it another card."""
    assert answer_to(connection, query((name, total)))["hardware"] == f"1x {expected}"


@pytest.mark.parametrize(
    ("name", "total", "reason"),
    [
        ("NVIDIA GeForce RTX 5090", 24_463, "a part of a card"),
        ("NVIDIA GeForce RTX 3060", 8_192, "a part of a card"),
        ("NVIDIA Graphics Device", 81_559, "did you mean"),
    ],
)
def test_a_name_alone_is_no_card(connection: sqlite3.Connection, name: str, total: int, reason: str) -> None:
    """Less memory than the record has, or a name of none: no record, and the reason."""
    answer = answer_to(connection, query((name, total)))

    assert answer["hardware"] is None
    assert reason in answer["devices"][0]["note"]


def test_unlike_cards_are_one_machine(connection: sqlite3.Connection) -> None:
    """The expression that comes out is one that goes in; a card without a record is left out and said."""
    answer = answer_to(
        connection,
        query(("NVIDIA GeForce RTX 3090", 24_576), ("NVIDIA GeForce RTX 3070", 8_192), ("NVIDIA X9000", 9_000)),
    )

    assert answer["hardware"] == "1x nvidia-rtx-3090 + 1x nvidia-rtx-3070"
    assert find_machines(connection, answer["hardware"])[0].devices == 2
    assert any("1 of 3 devices" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("chip", "cores", "memory", "expected"),
    [
        ("Apple M3 Max", "40", "64 GB", "1x apple-m3-max-40c 64gb"),
        ("Apple M4 Pro", "16", "24 GB", "1x apple-m4-pro 24gb"),
    ],
)
def test_a_chip_of_apples(connection: sqlite3.Connection, chip: str, cores: str, memory: str, expected: str) -> None:
    """The chip with its graphics cores, in the size that is built in."""
    text = json.dumps(
        {
            "SPHardwareDataType": [{"chip_type": chip, "physical_memory": memory}],
            "SPDisplaysDataType": [{"sppci_cores": cores}],
        }
    )

    assert answer_to(connection, text)["hardware"] == expected
