"""Things side by side as a table: a line per fact, a column per thing; the lines of compared machines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.parts import sources_of
from rackfit.export.columns import answer_columns
from rackfit.export.page_tables import noted
from rackfit.tabular.table import Column, Kind, Table

NAME = "compare"
KINDS: dict[str, Kind] = {"name": "string", "unit": "string", "differs": "string"}
"""Columns before those of the things: name -> what its cells are."""

FACTS = (
    ("devices", "devices", "", ""), ("memory_bytes", "memory in all", "bytes", "high"),
    ("device_memory_bytes", "memory of one device", "bytes", "high"), ("memory_type", "memory type", "", ""),
    ("bandwidth_gb_s", "bandwidth of one device", "GB/s", "high"),
    ("bf16_tflops", "peak bf16 of one, dense", "TFLOPS", "high"),
    ("fp8_tflops", "peak fp8 of one, dense", "TFLOPS", "high"),
    ("fp4_tflops", "peak fp4 of one, dense", "TFLOPS", "high"),
    ("link", "link between devices", "", ""), ("link_gb_s", "link, one direction", "GB/s", "high"),
    ("accelerator_w", "power of the accelerators", "W", "low"), ("system_w", "system at most", "W", "low"),
    ("price_per_hour", "lowest price per hour", "", "low"), ("currency", "currency", "", ""),
    ("price_provider", "provider", "", ""), ("price_term", "term", "", ""), ("price_date", "price of", "", ""),
    ("purchase_price", "lowest price to buy", "", "low"), ("purchase_basis", "which covers", "", ""),
    ("purchase_date", "that price of", "", ""),
)  # fmt: skip
CELLS = (
    ("verdict", "verdict", "", ""), ("precision", "format", "", ""),
    ("margin_bytes", "left on a device", "bytes", "high"),
    ("max_context", "longest context", "tokens", "high"), ("sequences_likely", "most sequences", "", "high"),
    ("tokens_per_s", "tokens/s, estimate", "", "high"), ("tokens_per_s_low", "tokens/s, low end", "", "high"),
    ("tokens_per_s_bound", "tokens/s, bound", "", ""), ("full_batch", "full batch, sequences", "", ""),
    ("full_batch_tokens_per_s", "full batch, tokens/s, estimate", "", "high"),
    ("prompt_tokens_per_s", "prompt, tokens/s, estimate", "", "high"), ("ttft_s", "first token, estimate", "s", "low"),
    ("price_per_million_tokens", "price of a million tokens, estimate", "", "low"),
)  # fmt: skip
"""(key, words, unit, better end) of the lines of machines, and of each model on them; see `ask.compare`."""


@dataclass(frozen=True)
class Line:
    """One row: what it is, its unit, a value per item. `best` says which end of the scale people want, if any."""

    name: str
    values: tuple[Any, ...]
    unit: str = ""
    best: str = ""

    @property
    def differs(self) -> bool:
        """Whether the items do not all have the same value."""
        return len({str(value) for value in self.values}) > 1

    @property
    def winners(self) -> frozenset[int]:
        """Places of the best values; none where all are equal or the row has no better end."""
        known = [value for value in self.values if isinstance(value, (int, float))]
        if not self.best or not self.differs or len(known) < 2:
            return frozenset()
        wanted = max(known) if self.best == "high" else min(known)
        return frozenset(place for place, value in enumerate(self.values) if value == wanted)


def machine_lines(found: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a comparison by `ask.compare.compare_machines`, those without any value left out."""
    rows = [_line(found["machines"], *fact) for fact in FACTS]
    for model in found["models"]:
        rows += [replace(_line(model["cells"], *one), name=f"{model['model']}: {one[1]}") for one in CELLS]
    return [row for row in rows if any(value is not None for value in row.values)]


def _line(columns: Sequence[Mapping[str, Any]], key: str, words: str, unit: str, best: str) -> Line:
    return Line(words, tuple(column[key] for column in columns), unit, best)


def side_by_side(
    connection: sqlite3.Connection,
    heads: Sequence[str],
    lines: Sequence[Line],
    asked: Mapping[str, Any],
    records: Iterable[tuple[str, str]],
) -> Table:
    """Return lines as a table: name, unit, whether the things differ, a column per thing.

    Args:
        connection: an open catalog.
        heads: the things, as their columns are called.
        lines: what is said of them.
        asked: the question, for the notes.
        records: (table, key) of what is compared, for the sources.
    """
    sources = {source for record in records for source in sources_of(connection, *record)}
    rows = [(line.name, line.unit, "yes" if line.differs else "no", *line.values) for line in lines]
    columns = [*answer_columns(NAME, KINDS), *(Column(head, head) for head in heads)]
    return noted(connection, NAME, columns, rows, asked, sources)


def machines_table(connection: sqlite3.Connection, found: Mapping[str, Any], asked: Mapping[str, Any]) -> Table:
    """Return a comparison of machines (`ask.compare.compare_machines`) as a table."""
    machines = found["machines"]
    heads, records = [one["hardware"] for one in machines], [("accelerators", one["accelerator"]) for one in machines]
    return side_by_side(connection, heads, machine_lines(found), asked, records)
