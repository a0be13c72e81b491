"""One catalog per test run, and a small complete data folder for tests that build their own."""

from __future__ import annotations

import csv
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rackfit.assemble import build
from rackfit.catalog.connect import open_catalog
from rackfit.paths import packaged

REFERENCE = Path(__file__).parent / "reference"

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
"""What is slow on a busy machine is no fault: time is measured in tests/benchmarks."""

SMALL_WHOLE = ("sources", "releases", "precisions", "runtimes", "budgets", "recipes", "workloads", "interconnects")
"""Folders of data/ that small data takes as they are."""

SMALL_FILES = (
    "accelerators/nvidia/nvidia-h100-sxm5-80gb.toml",
    "accelerators/nvidia/nvidia-rtx-4090.toml",
    "accelerators/amd/amd-mi300x.toml",
    "models/qwen/qwen3-8b.toml",
    "models/mistralai/mistral-7b-v0.1.toml",
)
"""Records that small data has beside the whole folders."""


def _build_once(target: Path) -> None:
    """Build the catalog unless another worker of this run does; then wait for it."""
    lock, failed = target.with_suffix(".lock"), target.with_suffix(".failed")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        while not target.exists():
            assert not failed.exists(), "the worker that builds the catalog failed"
            time.sleep(0.2)
        return
    try:
        build(target, [packaged("data")])
    except BaseException:
        failed.touch()
        raise


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real catalog, built once per run and shared by all workers: read it, never write to it.

    RACKFIT_TEST_CATALOG names a catalog that is there already, for quick repeats of one file of tests.
    """
    if ready := os.environ.get("RACKFIT_TEST_CATALOG"):
        return Path(ready)
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    target = shared / "catalog.db"
    if not target.exists():
        _build_once(target)
    return target


@pytest.fixture(scope="session")
def connection(catalog: Path) -> Iterator[sqlite3.Connection]:
    """An open read-only connection to the real catalog."""
    opened = open_catalog(catalog)
    yield opened
    opened.close()


def _some_rows(source: Path, target: Path, keep: dict[str, set[str]], most: int) -> None:
    """Copy the first rows of a CSV whose columns have the values to keep."""
    with source.open(encoding="utf-8", newline="") as read, target.open("w", encoding="utf-8", newline="") as written:
        reader = csv.DictReader(read)
        writer = csv.DictWriter(written, reader.fieldnames or [], lineterminator="\n")
        writer.writeheader()
        rows = [row for row in reader if all(row[name] in values for name, values in keep.items())]
        writer.writerows(rows[:most])


@pytest.fixture(scope="session")
def small_data_master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the small data folder once per worker."""
    real, small = packaged("data"), tmp_path_factory.mktemp("small") / "data"
    for folder in SMALL_WHOLE:
        if (real / folder).is_dir():
            shutil.copytree(real / folder, small / folder)
    for name in SMALL_FILES:
        (small / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(real / name, small / name)
    for folder in ("prices", "measurements"):
        (small / folder).mkdir()
    slugs = {Path(name).stem for name in SMALL_FILES if name.startswith("accelerators/")}
    _some_rows(real / "prices/cloud.csv", small / "prices/cloud.csv", {"accelerator_id": slugs, "system_id": {""}}, 20)
    _some_rows(real / "measurements/public-cases.csv", small / "measurements/public-cases.csv", {}, 20)
    return small


@pytest.fixture
def small_data(small_data_master: Path, tmp_path: Path) -> Path:
    """A complete data folder with few records, of one's own to change."""
    return Path(shutil.copytree(small_data_master, tmp_path / "data"))


@pytest.fixture(scope="session")
def small_catalog(small_data_master: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of the small data, built once per worker: read it, never write to it."""
    target = tmp_path_factory.mktemp("small-catalog") / "catalog.db"
    build(target, [small_data_master], must_exist=False)
    return target


@pytest.fixture
def own_catalog(small_catalog: Path, tmp_path: Path) -> Path:
    """A copy of it to write to."""
    return Path(shutil.copy(small_catalog, tmp_path / "catalog.db"))
