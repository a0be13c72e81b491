"""Hardware rows: what is derived from the records, and whether the schema takes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import chain

import pytest

from rackfit.catalog.connect import migration_files
from rackfit.catalog.loading import load
from rackfit.catalog.migrate import migrate
from rackfit.catalog.rows import hardware, sources
from rackfit.fit.shapes import shapes_of
from rackfit.paths import packaged
from rackfit.records.fieldguide import describe
from rackfit.records.load import read_library

TABLES = (
    "interconnects",
    "accelerators",
    "accelerator_rates",
    "memory_levels",
    "usable_memory",
    "mig_profiles",
    "systems",
    "system_facts",
    "system_power",
)


@pytest.fixture(scope="module")
def catalog() -> Iterator[sqlite3.Connection]:
    """Return a database with the hardware rows only."""
    assert migration_files()
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("pragma foreign_keys = on")
    migrate(connection)
    library = read_library([packaged("data")])
    hardware_kinds = {"accelerators", "interconnects", "systems"}
    for kind in set(library.records) - hardware_kinds:
        library.records[kind].clear()
    load(connection, chain(sources.rows(library), hardware.rows(library)))
    yield connection
    connection.close()


def one(catalog: sqlite3.Connection, question: str) -> tuple:
    """Return the only row of an answer."""
    rows = catalog.execute(question).fetchall()
    assert len(rows) == 1
    return rows[0]


def test_references_hold(catalog: sqlite3.Connection) -> None:
    """No row points at a row that is not there."""
    assert catalog.execute("pragma foreign_key_check").fetchall() == []


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_filled_and_described(catalog: sqlite3.Connection, table: str) -> None:
    """Every hardware table has rows, and every column a description."""
    assert one(catalog, f"select count(*) from {table}")[0] > 0
    for column in catalog.execute(f"select name from pragma_table_info('{table}')"):
        assert describe(column[0], table).description


def test_fit_memory_never_exceeds_the_label(catalog: sqlite3.Connection) -> None:
    """No device offers more than its label read as GiB."""
    assert not catalog.execute(
        "select accelerator_id from accelerators where fit_memory_bytes > memory_gb * 1073741824 * 1.0005"
    ).fetchall()


def test_printed_memory_has_no_spread(catalog: sqlite3.Connection) -> None:
    """An L4 shows 23034 MiB (nvidia-smi) and fits are computed against that."""
    row = one(
        catalog,
        "select fit_memory_bytes, fit_memory_rule, fit_memory_spread from accelerators where "
        "accelerator_id = 'nvidia-l4'",
    )

    assert row == (23034 * 2**20, "printed", 0.0)


@pytest.mark.parametrize(
    ("accelerator", "mib"),
    [
        # nvidia-smi prints in public files: memory total, ECC as most of them show it
        ("nvidia-m40-24gb", 22945),
        ("nvidia-k80", 11441),
        ("nvidia-quadro-p6000", 24449),
        ("nvidia-h20-3e-141gb", 143771),
    ],
)
def test_driver_totals_of_parts_of_their_own(catalog: sqlite3.Connection, accelerator: str, mib: int) -> None:
    """Fits are computed against what the driver prints; a K80 is two devices, each with its half."""
    question = f"select fit_memory_bytes from accelerators where accelerator_id = '{accelerator}'"
    assert one(catalog, question) == (mib * 2**20,)


@pytest.mark.parametrize(
    ("instance", "accelerator", "count"),
    [
        # EC2 and Compute Engine name the number of GPUs of a size
        ("aws-g5-24xlarge", "nvidia-a10g", 4),
        ("aws-g6-16xlarge", "nvidia-l4", 1),
        ("aws-g6e-24xlarge", "nvidia-l40s", 4),
        ("gcp-a2-megagpu-16g", "nvidia-a100-sxm4-40gb", 16),
        ("gcp-g2-standard-24", "nvidia-l4", 2),
        ("azure-nv72ads-a10-v5", "nvidia-a10", 2),
    ],
)
def test_sizes_of_cloud_instances(catalog: sqlite3.Connection, instance: str, accelerator: str, count: int) -> None:
    """Every size of a family is a record: the sizes between the smallest and the largest differ in GPUs too."""
    question = f"select accelerator_id, accelerator_count from systems where system_id = '{instance}'"
    assert one(catalog, question) == (accelerator, count)


def test_parts_of_long_ago_are_computed_not_stored(catalog: sqlite3.Connection) -> None:
    """A Tesla K80 of 2014 has a record and no shape of the stored matrix; a P40 of 2016 has one."""
    rows = catalog.execute("select * from accelerators").fetchall()
    names = [column[1] for column in catalog.execute("pragma table_info('accelerators')")]
    shapes = shapes_of([dict(zip(names, row, strict=True)) for row in rows], [])
    stored = {shape.accelerator_id for shape in shapes}
    assert "nvidia-k80" in {row[names.index("accelerator_id")] for row in rows}
    assert "nvidia-k80" not in stored and "nvidia-p40" in stored


def test_small_cards_are_not_stored_by_the_dozen(catalog: sqlite3.Connection) -> None:
    """Eight cards of 6 GB in one machine are computed when they are asked for; eight of 24 GB are stored."""
    rows = catalog.execute("select * from accelerators").fetchall()
    names = [column[1] for column in catalog.execute("pragma table_info('accelerators')")]
    stored = {shape.configuration_id for shape in shapes_of([dict(zip(names, row, strict=True)) for row in rows], [])}

    assert {"2x-nvidia-rtx-2060-6gb", "4x-nvidia-rtx-3060-12gb", "8x-nvidia-rtx-3090"} <= stored
    assert not {"4x-nvidia-rtx-2060-6gb", "8x-nvidia-rtx-3060-12gb"} & stored


def test_on_chip_bandwidth_of_an_a100(catalog: sqlite3.Connection) -> None:
    """On-chip SRAM of an A100 gives about 19 TB/s (FlashAttention, Dao et al. 2022, figure 1)."""
    bandwidth = one(
        catalog,
        "select bandwidth_gb_s from memory_levels where accelerator_id = 'nvidia-a100-sxm4-40gb' "
        "and level = 'l1_shared'",
    )[0]

    assert bandwidth == pytest.approx(19_000, rel=0.03)


def test_levels_of_an_a100(catalog: sqlite3.Connection) -> None:
    """Registers 256 KB, L1 192 KB, shared memory 164 KB per SM, L2 40 MB (NVIDIA A100 whitepaper)."""
    levels = dict(
        catalog.execute(
            "select level, capacity_bytes from memory_levels where accelerator_id = 'nvidia-a100-sxm4-80gb'"
        ).fetchall()
    )

    assert (
        levels["register"],
        levels["l1_shared"],
        levels["shared_max"],
        levels["l2"],
    ) == (256 * 1024, 192 * 1024, 164 * 1024, 40 * 2**20)


def test_laptops_and_unified_chips_stand_alone(catalog: sqlite3.Connection) -> None:
    """Nobody sells a machine with two Apple chips' GPUs or two laptop cards."""
    several = {row[0] for row in catalog.execute("select distinct segment from accelerators where multi_device = 1")}

    assert several == {"datacenter", "workstation", "consumer", "tpu_asic"}


def test_class_names_keep_their_order(catalog: sqlite3.Connection) -> None:
    """The most usual reading of a class name has rank 1."""
    rows = catalog.execute(
        "select target_id from aliases where kind = 'accelerator' and alias_key = 'a100' and is_class order by rank"
    ).fetchall()

    assert rows[0] == ("nvidia-a100-sxm4-80gb",)
    assert len(rows) == 4


def test_topology_follows_from_the_link(catalog: sqlite3.Connection) -> None:
    """A p5.48xlarge joins 8 H100 over NVSwitch (AWS EC2 P5 page), a g5.48xlarge has no link beside PCIe."""
    question = "select nvlink_topology, scale_up_domain_size from systems where system_id = '{}'"

    assert one(catalog, question.format("aws-p5-48xlarge")) == ("all-to-all NVSwitch", 8)
    assert one(catalog, question.format("aws-g5-48xlarge")) == ("none", 1)


def test_ram_bandwidth_is_stated_or_derived(catalog: sqlite3.Connection) -> None:
    """24 channels of DDR5-6400 give 24 x 6400 x 8 / 1000 = 1228.8 GB/s."""
    rows = catalog.execute(
        "select ram_bandwidth_gb_s from systems where ram_channels = 24 and ram_mt_s = 6400 and "
        "ram_bandwidth_basis like 'derived%'"
    ).fetchall()

    assert {round(row[0], 3) for row in rows} == {1228.8}


@pytest.mark.parametrize(
    "change",
    [
        "update accelerator_rates set sparse_tflops = dense_tflops / 2 where sparse_tflops is not null",
        "update interconnects set per_direction_gb_s = total_gb_s * 2",
        "update accelerators set memory_bandwidth_gb_s = -1",
        "update accelerators set status = 'rumoured'",
        "update systems set accelerator_count = 0",
    ],
)
def test_schema_refuses_nonsense(catalog: sqlite3.Connection, change: str) -> None:
    """The tables themselves refuse figures that contradict each other."""
    with pytest.raises(sqlite3.IntegrityError):
        catalog.execute(change)
