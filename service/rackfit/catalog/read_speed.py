"""Catalog rows back into what the arithmetic of speed works on: efficiencies, chips."""

from __future__ import annotations

import sqlite3

from rackfit.catalog.read import row_of, rows_of
from rackfit.speed.domain import Chip, Efficiency
from rackfit.speed.training_time import MfuRun


def read_efficiencies(connection: sqlite3.Connection) -> tuple[Efficiency, ...]:
    """Return every efficiency record, by id."""
    names = list(Efficiency.__dataclass_fields__)
    found = rows_of(connection, f"select {', '.join(names)} from efficiencies order by efficiency_id")
    return tuple(Efficiency(**row) for row in found)


def read_mfu_runs(connection: sqlite3.Connection) -> tuple[MfuRun, ...]:
    """Return the published training runs in 16 bits, in the order in which they were entered."""
    names = list(MfuRun.__dataclass_fields__)
    found = rows_of(connection, f"select {', '.join(names)} from mfu_runs where precision like '%bf16' order by run_id")
    return tuple(MfuRun(**row) for row in found)


def memory_class(memory_type: str | None, unified: bool) -> str:
    """Return the class of a device's memory: hbm, gddr or unified.

    The type decides where it names one: a chip whose host shares its HBM still reads HBM. Memory on the die, and TPUs
    whose type is not printed, count as hbm.
    """
    kind = (memory_type or "").upper()
    if kind.startswith("GDDR"):
        return "gddr"
    if kind.startswith("HBM"):
        return "hbm"
    return "unified" if unified or kind.startswith("LPDDR") else "hbm"


def read_chip(connection: sqlite3.Connection, accelerator_id: str) -> Chip:
    """Return an accelerator as a question of speed sees it.

    Raises:
        UnknownNameError: there is none of that id.
    """
    row = row_of(connection, "accelerators", "accelerator_id", accelerator_id)
    rates = rows_of(
        connection,
        "select precision_name, dense_tflops from accelerator_rates "
        "where accelerator_id = ? and dense_tflops is not null order by precision_name",
        accelerator_id,
    )
    kind = memory_class(row["memory_type"], bool(row["unified_memory"]))
    return Chip(
        accelerator_id=accelerator_id,
        name=row["name"],
        memory_class=kind,
        bandwidth_gb_s=row["memory_bandwidth_gb_s"],
        inline_ecc=kind == "gddr" and row["segment"] == "datacenter",
        units=row["compute_units"],
        unit_kind=row["compute_unit_kind"],
        rates={rate["precision_name"]: rate["dense_tflops"] for rate in rates},
    )
