"""The file of a tender: one requirement per line of a CSV or per `[[requirement]]` of a TOML file.

A requirement is of one kind: models that must fit, devices, or one field with a bound. Everything that is wrong with a
file is reported at once, with line and field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from rackfit.ask import figures
from rackfit.ask.tender.wish import DeviceWish, parse_devices
from rackfit.errors import BadFileError, Problem, UsageError
from rackfit.records.base import Part, Positive, PositiveCount, explain
from rackfit.tabular.reading import parse_csv, read_text

MOST_REQUIREMENTS = 500
KINDS = ("models", "devices", "field")
BOUNDS = ("at_least", "at_most", "equals", "one_of", "contains")
OF_MODELS = ("context", "sequences", "precision", "kv_precision", "runtime", "min_tokens_s", "max_first_token_s")
Line = Annotated[str, Field(min_length=1, max_length=2000)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Requirement(Part):
    """One requirement. `models`, `devices` and `field` are its three kinds; the rest belongs to one of them."""

    id: Line
    text: Line | None = None
    models: list[Line] = []
    context: PositiveCount | None = None
    sequences: PositiveCount | None = None
    precision: Line | None = None
    kv_precision: Line | None = None
    runtime: Line | None = None
    min_tokens_s: Positive | None = None
    max_first_token_s: Positive | None = None
    devices: Line | None = None
    field: Line | None = None
    at_least: Number | None = None
    at_most: Number | None = None
    equals: str | float | bool | None = None
    one_of: list[Line] = []
    contains: Line | None = None

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        kinds = [name for name in KINDS if getattr(self, name)]
        if len(kinds) != 1:
            said = "none of them" if not kinds else " and ".join(kinds)
            raise ValueError(f"one of models, devices and field, not {said}")
        strays = [
            name
            for names, kind in ((OF_MODELS, "models"), (BOUNDS, "field"))
            for name in names
            if kinds[0] != kind and getattr(self, name) not in (None, [])
        ]
        if strays:
            raise ValueError(f"{kinds[0]} alone: {', '.join(strays)} is not part of it")
        bounds = [name for name in BOUNDS if getattr(self, name) not in (None, [])]
        if kinds[0] == "field" and not bounds:
            raise ValueError(f"a bound for {self.field}: {', '.join(BOUNDS)}")
        if self.devices is not None:
            try:
                parse_devices(self.devices)
            except UsageError as error:
                raise ValueError(str(error)) from error
        return self

    @property
    def wishes(self) -> tuple[DeviceWish, ...]:
        """The alternatives of a requirement of devices."""
        return parse_devices(self.devices or "")

    @property
    def wanted(self) -> str:
        """The requirement in words."""
        if self.devices:
            return " or ".join(str(wish) for wish in self.wishes)
        if self.models:
            said = [f"{name.replace('_', ' ')} {getattr(self, name)}" for name in OF_MODELS
                    if getattr(self, name) is not None]  # fmt: skip
            return ", ".join([" and ".join(self.models) + " fits", *said])
        bounds = {"at_least": ">=", "at_most": "<=", "equals": "=", "contains": "contains"}
        said = [f"{sign} {_shown(getattr(self, name))}" for name, sign in bounds.items()
                if getattr(self, name) is not None]  # fmt: skip
        return " ".join(
            [str(self.field), " and ".join([*said, *([f"is {' or '.join(self.one_of)}"] if self.one_of else [])])]
        )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirements of one file, in its order."""

    name: str
    title: str | None
    lines: tuple[Requirement, ...]


def read_requirements(path: Path) -> Requirements:
    """Return the requirements of a .toml or .csv file.

    Raises:
        UsageError: the file cannot be read, or is neither.
        BadFileError: listing everything that is wrong with it.
    """
    if path.suffix.lower() not in (".toml", ".csv"):
        raise UsageError(f"{path.name}: expected a file of requirements that ends in .toml or .csv")
    return parse_requirements(read_text(path), path.name)


def parse_requirements(text: str, name: str) -> Requirements:
    """Return the requirements of a text: CSV where the name ends in .csv, else TOML.

    Raises:
        UsageError, BadFileError: as `read_requirements`.
    """
    return _from_csv(text, name) if name.lower().endswith(".csv") else _from_toml(text, name)


def _from_toml(text: str, name: str) -> Requirements:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: expected TOML ({error})") from error
    problems = [
        Problem(name, key, document[key], "`title` and `[[requirement]]` alone")
        for key in document
        if key not in ("title", "requirement")
    ]
    entries = document.get("requirement", [])
    title = document.get("title")
    if title is not None and not isinstance(title, str):
        problems.append(Problem(name, "title", title, "text"))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadFileError(name, [*problems, Problem(name, "requirement", entries, "tables `[[requirement]]`")])
    blocks = _blocks(text)
    placed = [(blocks[place] if place < len(blocks) else {}, entry) for place, entry in enumerate(entries)]
    return _checked(name, title if isinstance(title, str) else None, placed, problems)


def _blocks(text: str) -> list[dict[str, int]]:
    """Return for each `[[requirement]]` the lines of its keys; the empty key is the line of the block itself."""
    blocks: list[dict[str, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"\s*\[\[\s*requirement\s*\]\]", line):
            blocks.append({"": number})
        elif blocks and (matched := re.match(r"\s*([A-Za-z_]+)\s*=", line)):
            blocks[-1].setdefault(matched[1], number)
    return blocks


_NUMBERS = {"context": figures.tokens, "sequences": figures.whole}
_LISTS = ("models", "one_of")
_DECIMALS = ("at_least", "at_most", "min_tokens_s", "max_first_token_s")


def _from_csv(text: str, name: str) -> Requirements:
    found = parse_csv(text, name)
    unknown = [column for column in found.header if column not in _COLUMNS]
    problems = [Problem(name, column, None, _near(column)) for column in unknown]
    problems += [Problem(f"{name}:{line}", "", None, f"{len(found.header)} cells in the row") for line in found.ragged]
    placed = [
        ({"": line}, _typed({key: cell.strip() for key, cell in row.items() if cell.strip() and key in _COLUMNS}))
        for line, row in found.records(_DECIMALS)
        if line not in found.ragged
    ]
    return _checked(name, None, placed, problems)


def _typed(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return the cells of a line with their types; what cannot be read stays text, which the model refuses."""
    row: dict[str, Any] = dict(cells)
    for key, text in cells.items():
        if key in _LISTS:
            row[key] = [part.strip() for part in re.split(r"[;|]", text) if part.strip()]
        elif key in _NUMBERS:
            row[key] = text if (read := _NUMBERS[key](text)) is None else read
        elif key in _DECIMALS:
            row[key] = text if (number := figures.decimal(text)) is None else number
        elif key == "equals":
            flag = {"true": True, "yes": True, "false": False, "no": False}.get(text.casefold())
            number = figures.decimal(text)
            row[key] = flag if flag is not None else text if number is None else number
    return row


_COLUMNS = tuple(Requirement.model_fields)


def _near(name: str) -> str:
    close = get_close_matches(name, _COLUMNS, n=3, cutoff=0.5)
    return f"a field such as {', '.join(close or _COLUMNS[:6])}"


def _checked(
    name: str, title: str | None, placed: Sequence[tuple[Mapping[str, int], Mapping[str, Any]]], problems: list[Problem]
) -> Requirements:
    """Return the requirements, or everything that is wrong with them.

    Raises:
        BadFileError: with line and field of each problem.
    """
    lines: list[Requirement] = []
    seen: set[str] = set()
    for number, (places, entry) in enumerate(placed, start=1):
        given = dict(entry)
        if "users" in given and "sequences" not in given and "users" not in _COLUMNS:
            problems.append(Problem(_place(name, places, "users"), "users", given.pop("users"),
                            "`sequences`, the requests at a time: not every user asks at every moment"))  # fmt: skip
        given.setdefault("id", f"R{number}")
        try:
            line = Requirement.model_validate(_widened(given))
        except ValidationError as error:
            problems += list(_problems(name, places, error))
            continue
        if line.id in seen:
            problems.append(Problem(_place(name, places, "id"), "id", line.id, "an id that no other requirement has"))
        seen.add(line.id)
        lines.append(line)
    if not placed and not problems:
        problems.append(Problem(name, "", None, "at least one requirement"))
    if len(placed) > MOST_REQUIREMENTS:
        problems.append(Problem(name, "", None, f"at most {MOST_REQUIREMENTS} requirements, {len(placed)} found"))
    if problems:
        raise BadFileError(name, problems)
    return Requirements(name, title, tuple(lines))


def _widened(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry whose whole numbers may stand for fractions, and whose single names for lists of one."""
    row = dict(entry)
    for key in (*_DECIMALS, "equals"):
        if isinstance(row.get(key), int) and not isinstance(row.get(key), bool):
            row[key] = float(row[key])
    for key in _LISTS:
        if isinstance(row.get(key), str):
            row[key] = [row[key]]
    if isinstance(row.get("context"), str) and (tokens := figures.tokens(row["context"])) is not None:
        row["context"] = tokens
    return row


_EXPECTED = {"context": "tokens, such as 32768 or 32k", "sequences": "a whole number from 1"}


def _problems(name: str, places: Mapping[str, int], error: ValidationError) -> Iterable[Problem]:
    for item in error.errors(include_url=False):
        field, value, expected = explain(item)
        expected = _EXPECTED.get(field, expected)
        if item["type"] == "extra_forbidden":
            expected = f"{_near(field)}; there is no {field!r}"
        yield Problem(_place(name, places, field.split(".")[0]), field, value, expected)


def _place(name: str, places: Mapping[str, int], key: str) -> str:
    line = places.get(key, places.get(""))
    return f"{name}:{line}" if line else name
