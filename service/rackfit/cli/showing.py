"""How answers look: one JSON document for programs, plain tables for people. No colours, so no codes in pipes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

GIB = 2**30
WIDEST_CELL = 60
"""Characters of a table's cell before it is cut: names stay whole, notes do not."""


def show_json(document: Any) -> None:
    """Write one JSON document. Everything beyond ASCII is escaped, so that any terminal and locale can carry it."""
    try:
        text = json.dumps(document, indent=2, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(_finite(document), indent=2, allow_nan=False, default=str)
    click.echo(text, color=False)


def _finite(value: Any) -> Any:
    """Return a document with what JSON has no number for (infinity, not a number) as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


def show_list(query: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
    """Write a list of answers with the question that they answer."""
    asked = {name: value for name, value in query.items() if value is not None}
    show_json({"query": asked, "results": [dict(row) for row in results]})


def show_table(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str] | None = None, empty: str = "none"
) -> None:
    """Write rows as a table; `columns` maps a column's name to its heading and chooses the order."""
    from tabulate import tabulate

    listed = list(rows)
    if not listed:
        click.echo(empty, color=False)
        return
    chosen = columns or {name: name for name in listed[0]}
    cells = [[cell(name, row.get(name)) for name in chosen] for row in listed]
    click.echo(tabulate(cells, headers=list(chosen.values()), tablefmt="simple", disable_numparse=True), color=False)


def show_pairs(pairs: Iterable[tuple[str, Any]]) -> None:
    """Write names and values under one another; what has no value is left out."""
    listed = [(name, cell(name, value)) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        click.echo(f"{name:<{width}}  {value}", color=False)


def cell(name: str, value: Any) -> str:
    """Return how a value is shown in a table: bytes as GiB, thousands apart, an unknown value empty."""
    if value is None:
        return ""
    if name.endswith("_bytes") and isinstance(value, (int, float)) and not isinstance(value, bool):
        return sized(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    text = " ".join(str(value).split())
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= WIDEST_CELL else text[: WIDEST_CELL - 3] + "..."


def sized(value: float) -> str:
    """Return bytes in the binary unit that suits them."""
    for unit, factor in (("GiB", GIB), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= factor:
            return f"{value / factor:,.2f} {unit}"
    return f"{value:,.0f} B"


def gib(value: float | None) -> str:
    """Return bytes as GiB with two places, or nothing for an unknown size."""
    return "" if value is None else f"{value / GIB:,.2f}"
