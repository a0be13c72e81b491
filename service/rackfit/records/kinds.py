"""The kinds of record there are: registered once, everything else is derived from this list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from rackfit.records.accelerators import Accelerator
from rackfit.records.budgets import Budget
from rackfit.records.classes import AcceleratorClass
from rackfit.records.efficiencies import Efficiency
from rackfit.records.interconnects import Interconnect
from rackfit.records.measurements import Measurement
from rackfit.records.mfu import MfuRun
from rackfit.records.models import Architecture
from rackfit.records.precisions import Precision
from rackfit.records.prices import Offer
from rackfit.records.recipes import Recipe
from rackfit.records.releases import Release
from rackfit.records.runtimes import Runtime
from rackfit.records.systems import System, SystemPower
from rackfit.records.workloads import Workload


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One file per record, below `folder`."""

    name: str
    folder: str
    model: type[Any]
    slug_has_folder: bool = False


@dataclass(frozen=True, slots=True)
class CsvKind:
    """Many records per CSV file, below `folder`."""

    name: str
    folder: str
    model: type[BaseModel]

    def required_columns(self) -> set[str]:
        """Return the columns that every file of this kind must have."""
        automatic = {"file", "origin"}
        return {name for name, info in self.model.model_fields.items() if info.is_required()} - automatic

    def numeric_columns(self) -> set[str]:
        """Return the columns that hold numbers."""
        properties = self.model.model_json_schema()["properties"]
        return {name for name, entry in properties.items() if _is_number(entry)}


def _is_number(entry: dict[str, Any]) -> bool:
    """Return whether an entry of a JSON schema is a number, alone or beside other types."""
    return any(one.get("type") in ("integer", "number") for one in (entry, *entry.get("anyOf", ())))


RECORD_KINDS: tuple[RecordKind, ...] = (
    RecordKind("accelerators", "accelerators", Accelerator),
    RecordKind("interconnects", "interconnects", Interconnect),
    RecordKind("systems", "systems", System),
    RecordKind("releases", "releases", Release),
    RecordKind("models", "models", Architecture, slug_has_folder=True),
    RecordKind("precisions", "precisions", Precision),
    RecordKind("runtimes", "runtimes", Runtime),
    RecordKind("runtime_budgets", "budgets", Budget),
    RecordKind("efficiencies", "efficiencies", Efficiency),
    RecordKind("recipes", "recipes", Recipe),
    RecordKind("workloads", "workloads", Workload),
)
CSV_KINDS: tuple[CsvKind, ...] = (
    CsvKind("classes", "classes", AcceleratorClass),
    CsvKind("system_power", "system_power", SystemPower),
    CsvKind("offers", "prices", Offer),
    CsvKind("measurements", "measurements", Measurement),
    CsvKind("mfu", "mfu", MfuRun),
)
