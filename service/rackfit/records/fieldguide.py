"""What each field means and its unit: written once in `fields/*.toml`, used by tables, pages, exports and docs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "fields"


@dataclass(frozen=True, slots=True)
class FieldGuide:
    """Description of one field and the unit of its values, None where it has none."""

    description: str
    unit: str | None = None


def read_guide(folder: Path) -> dict[str, FieldGuide]:
    """Read every file of a folder into one guide by field name.

    Raises:
        ValueError: a field is described twice, or an entry has keys other than description and unit.
    """
    guide: dict[str, FieldGuide] = {}
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in guide:
                raise ValueError(f"{path.name}: {name} is described in another file already")
            if not entry.get("description") or set(entry) - {"description", "unit"}:
                raise ValueError(f"{path.name}: {name} needs a description and at most a unit beside it")
            guide[name] = FieldGuide(entry["description"], entry.get("unit"))
    return guide


@cache
def guide() -> dict[str, FieldGuide]:
    """Return the guide of this package: field name, or `table.field` where a table means something of its own."""
    return read_guide(FOLDER)


def describe(field: str, table: str | None = None) -> FieldGuide:
    """Return what a field means, in a table if that table has an entry of its own.

    Raises:
        KeyError: no entry describes the field.
    """
    entries = guide()
    return entries.get(f"{table}.{field}") or entries[field]
