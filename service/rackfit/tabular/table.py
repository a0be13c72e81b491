"""A table on its way into a file: columns with meaning and unit, rows, and what a reader must know beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["integer", "number", "string", "date", "any"]
"""What the cells of a column are. A date may be partial (2024-03); `any` is a column that nothing is declared of."""

SUFFIXES = {
    "byte": "bytes",
    "bytes": "bytes",
    "B": "bytes",
    "GiB": "gib",
    "GB as labelled": "gb",
    "GB": "gb",
    "GB/s": "gb_s",
    "MHz": "mhz",
    "W": "w",
    "bit": "bits",
    "bits": "bits",
    "tokens/s": "tokens_s",
    "%": "percent",
    "USD": "usd",
    "tokens": "tokens",
    "TFLOPS": "tflops",
    "Gbit/s": "gbps",
    "B/param": "bytes_per_param",
    "kg": "kg",
    "mm": "mm",
}
"""Unit -> ending of a column's name that says it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its header in files, what it means, its unit, and what its cells are."""

    name: str
    header: str
    description: str | None = None
    unit: str | None = None
    kind: Kind = "any"
    formula: str | None = None
    """What a workbook computes here; names in braces are cells of the same row: `={price}*{quantity}`."""

    def as_field(self) -> dict[str, str]:
        """Return the column as a field of a Table Schema. A date that may be partial is text there."""
        found = {"name": self.header, "type": "string" if self.kind == "date" else self.kind}
        if self.description:
            found["description"] = self.description
        if self.unit:
            found["unit"] = self.unit
        if self.header != self.name:
            found["column"] = self.name
        return found


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with their columns. `notes` are (what, value), `sources` one row per source with the same keys."""

    name: str
    columns: Sequence[Column]
    rows: Iterable[Sequence[Any]]
    notes: Sequence[tuple[str, Any]] = ()
    sources: Sequence[Mapping[str, Any]] = field(default=())

    @property
    def headers(self) -> list[str]:
        """The first line of a file."""
        return [column.header for column in self.columns]


def header(name: str, unit: str | None) -> str:
    """Return a column's name with its unit, unless the name says it already.

    >>> header("memory_bandwidth_gb_s", "GB/s"), header("max_context", "tokens")
    ('memory_bandwidth_gb_s', 'max_context_tokens')
    """
    suffix = SUFFIXES.get(unit or "")
    if suffix is None or set(suffix.split("_")) & set(name.split("_")):
        return name
    return f"{name}_{suffix}"


def distinct(columns: Sequence[Column]) -> list[Column]:
    """Return columns of which no two have the same header: those keep their bare names."""
    headers = [column.header for column in columns]
    return [replace(column, header=column.name) if headers.count(column.header) > 1 else column for column in columns]


def cell_of(value: Any) -> Any:
    """Return a value of an answer as a cell: a list as one text, true and false in words, the rest as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "; ".join(str(one) for one in value) or None
    return value
