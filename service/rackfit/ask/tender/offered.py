"""What is offered: systems of the catalog, hardware expressions, or the lines of a vendor's file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rackfit.ask import figures
from rackfit.ask.facts import check_words
from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.parts import Part, parts_of
from rackfit.ask.tender.evidence import FieldKind, field_kinds, near_field
from rackfit.catalog.read import rows_of
from rackfit.errors import BadFileError, Problem, RackfitError, UsageError
from rackfit.tabular.reading import parse_csv, read_text

MOST_OFFERED = 500
NOT_FACTS = ("name", "hardware")
BOUGHT = ("server", "rack", "workstation", "desktop", "baseboard")
"""Kinds of system that are bought; cloud instances are rented."""
_TRUE = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True)
class Offered:
    """One system of a tender: its machine on record where there is one, and what the offer itself states."""

    name: str
    machine: Machine | None
    parts: tuple[Part, ...]
    stated: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None
    """File and line of the offer."""

    @property
    def devices(self) -> int | None:
        """Devices of the system; None where neither the offer nor a record says it."""
        count = self.stated.get("accelerator_count")
        if count is not None:
            return int(count)
        return sum(part.devices for part in self.parts) if self.parts else None


def named_systems(connection: sqlite3.Connection, names: Sequence[str]) -> list[Offered]:
    """Return the systems of some names, each once; of a class every candidate.

    Raises:
        UsageError and its kinds: from the hardware expression.
    """
    machines = {machine.shown: machine for text in names for machine in find_machines(connection, text)}
    return [_offered(connection, machine) for machine in machines.values()]


def of_catalog(connection: sqlite3.Connection, provider: str | None, kind: str | None) -> list[Offered]:
    """Return every system of the catalog that is bought, or those of a kind or provider, by name."""
    check_words(connection, "systems", {"kind": ("kind", kind), "provider": ("provider", provider)})
    kinds = (kind.casefold(),) if kind else BOUGHT
    rows = rows_of(
        connection,
        f"select system_id from systems where kind in ({', '.join('?' * len(kinds))}) "
        "and (? is null or lower(provider) = lower(?)) order by system_id",
        *kinds, provider, provider,
    )  # fmt: skip
    found = []
    for row in rows:
        try:
            found += named_systems(connection, [row["system_id"]])
        except RackfitError:
            continue  # its device has no memory on record: nothing can be said of it
    return found


def read_offered(connection: sqlite3.Connection, path: Path) -> list[Offered]:
    """Return the systems of a vendor's CSV: `name`, `hardware` where it is on record, and what the vendor states.

    Every other column is a field of systems or devices; what is stated counts before the record.

    Raises:
        UsageError: the file cannot be read.
        BadFileError: listing everything that is wrong with it, by line.
    """
    return parse_offers(connection, read_text(path), path.name)


def parse_offers(connection: sqlite3.Connection, text: str, name: str) -> list[Offered]:
    """Return the systems of a vendor's CSV as `read_offered` does.

    Raises:
        BadFileError: every problem of the text, with line and column.
    """
    kinds, found = field_kinds(connection), parse_csv(text, name)
    problems = [
        Problem(name, column, None, f"name, hardware, or a field such as {near_field(kinds, column)}")
        for column in found.header
        if column not in NOT_FACTS and column not in kinds
    ]
    if "name" not in found.header:
        problems.append(Problem(name, "", None, "a column `name`"))
    problems += [Problem(f"{name}:{line}", "", None, f"{len(found.header)} cells in the row") for line in found.ragged]
    numeric = [column for column in found.header if column in kinds and kinds[column].numeric]
    offers: list[Offered] = []
    for line, row in found.records(numeric):
        if line in found.ragged or "name" not in row:
            continue
        offers += _line(connection, kinds, f"{name}:{line}", row, problems)
    twice = {one.name: one for one in offers if sum(other.name == one.name for other in offers) > 1}
    problems += [Problem(str(one.place), "name", name, "a name that no other line has") for name, one in twice.items()]
    if not offers and not problems:
        problems.append(Problem(name, "", None, "at least one system"))
    if len(offers) > MOST_OFFERED:
        problems.append(Problem(name, "", None, f"at most {MOST_OFFERED} systems, {len(offers)} found"))
    if problems:
        raise BadFileError(name, problems)
    return offers


def _line(
    connection: sqlite3.Connection, kinds: Mapping[str, FieldKind], place: str, row: Mapping[str, str],
    problems: list[Problem],
) -> list[Offered]:  # fmt: skip
    """Return the offer of one line, or note what is wrong with it."""
    if not row["name"].strip():
        problems.append(Problem(place, "name", row["name"], "a name"))
        return []
    stated: dict[str, Any] = {}
    for column, text in row.items():
        if column in NOT_FACTS or column not in kinds or not text.strip():
            continue
        stated[column], expected = _read(kinds[column], text.strip())
        if expected:
            problems.append(Problem(place, column, text, expected))
    machines: list[Machine | None] = [None]
    if hardware := row.get("hardware", "").strip():
        try:
            machines = list(find_machines(connection, hardware))
        except UsageError as error:
            problems.append(Problem(place, "hardware", hardware, f"hardware on record ({error})"))
    return [
        Offered(
            row["name"].strip() if len(machines) == 1 or one is None else f"{row['name'].strip()} ({one.shown})",
            one, tuple(parts_of(connection, one)) if one else (), stated, place,
        )
        for one in machines
    ]  # fmt: skip


def _read(kind: FieldKind, text: str) -> tuple[Any, str]:
    """Return a stated value, and what was expected where it cannot be read."""
    if kind.truth:
        value = _TRUE.get(text.casefold())
        return value, "" if value is not None else "yes or no"
    if kind.numeric:
        number = figures.decimal(text)
        return number, "" if number is not None and number >= 0 else "a number from 0"
    return text, ""


def _offered(connection: sqlite3.Connection, machine: Machine) -> Offered:
    return Offered(machine.shown, machine, tuple(parts_of(connection, machine)))
