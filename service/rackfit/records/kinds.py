"""The kinds of record there are: registered once, everything else is derived from this list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from rackfit.records.accelerators import Accelerator
from rackfit.records.releases import Release


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


RECORD_KINDS: tuple[RecordKind, ...] = (
    RecordKind("accelerators", "accelerators", Accelerator),
    RecordKind("releases", "releases", Release),
)
CSV_KINDS: tuple[CsvKind, ...] = ()
