"""Read every file of a data folder into records, or report everything that is wrong at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from rackfit.errors import BadRecordsError, Problem, UsageError
from rackfit.records.base import explain
from rackfit.records.kinds import CSV_KINDS, RECORD_KINDS
from rackfit.records.sources import Source
from rackfit.tabular.reading import parse_csv, read_text

Progress = Callable[[str, int], None]


@dataclass(slots=True)
class Library:
    """All records of one or more data folders, by kind and slug."""

    sources: dict[str, Source] = field(default_factory=dict)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, list[Any]] = field(default_factory=dict)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    origins: dict[tuple[str, str], str] = field(default_factory=dict)

    def kind(self, name: str) -> dict[str, Any]:
        """Return the records of one kind by slug."""
        return self.records.setdefault(name, {})

    def file_of(self, kind: str, slug: str) -> str:
        """Return the file that a record came from, relative to its data folder."""
        return self.files.get((kind, slug), f"{kind}/{slug}")


def _read_toml(path: Path, shown: str, problems: list[Problem]) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(Problem(shown, "", None, f"valid TOML in UTF-8 ({error})"))
        return None


def _validate(model: type[BaseModel], data: dict[str, Any], shown: str, problems: list[Problem]) -> Any:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            problems.append(Problem(shown, *explain(item)))
        return None


def _read_sources(folder: Path, library: Library, problems: list[Problem], origin: str) -> None:
    for path in sorted([*folder.glob("sources.toml"), *folder.glob("sources/*.toml")]):
        shown = path.relative_to(folder).as_posix()
        for key, data in (_read_toml(path, shown, problems) or {}).items():
            place = f"{shown} [{key}]"
            if key in library.sources:
                problems.append(Problem(place, "", None, "a source key that no other file uses"))
                continue
            record = _validate(Source, {**data, "slug": key}, place, problems)
            if record is not None:
                library.sources[key] = record
                library.origins["sources", key] = origin


def _slug_of(path: Path, root: Path, depth: int) -> str:
    relative = path.relative_to(root).with_suffix("") if path.suffix == ".toml" else path.relative_to(root)
    return "/".join(relative.parts[-depth:])


def _read_records(folder: Path, library: Library, problems: list[Problem], origin: str) -> None:
    for kind in RECORD_KINDS:
        root = folder / kind.folder
        for path in sorted(root.rglob("*.toml")):
            shown = path.relative_to(folder).as_posix()
            slug = path.relative_to(root).as_posix().removesuffix(".toml")
            if not kind.slug_has_folder:
                slug = slug.rsplit("/", 1)[-1]
            data = _read_toml(path, shown, problems)
            if data is None:
                continue
            if "slug" in data:
                problems.append(Problem(shown, "slug", data["slug"], "no slug: the file's name is the slug"))
                continue
            if slug != slug.lower():
                problems.append(Problem(shown, "", None, "a lower-case file name"))
            if slug in library.kind(kind.name):
                problems.append(Problem(shown, "", None, f"a slug unique among {kind.name}, {slug!r} is taken"))
                continue
            record = _validate(kind.model, {**data, "slug": slug}, shown, problems)
            if record is not None:
                library.kind(kind.name)[slug] = record
                library.files[kind.name, slug] = shown
                library.origins[kind.name, slug] = origin


def _read_csv(folder: Path, library: Library, problems: list[Problem], origin: str) -> None:
    for kind in CSV_KINDS:
        rows = library.rows.setdefault(kind.name, [])
        for path in sorted((folder / kind.folder).glob("*.csv")):
            shown = path.relative_to(folder).as_posix()
            try:
                found = parse_csv(read_text(path), shown)
                lines = found.records(kind.numeric_columns())
            except UsageError as error:
                problems.append(Problem(shown, "", None, str(error).removeprefix(f"{shown}:").strip()))
                continue
            missing = sorted(kind.required_columns() - set(found.header))
            if missing:
                problems.append(Problem(shown, "", None, f"columns {', '.join(missing)}"))
                continue
            ragged = found.ragged
            for number in ragged:
                problems.append(Problem(f"{shown}:{number}", "", None, f"{len(found.header)} cells in the row"))
            for number, raw in lines:
                if number in ragged:
                    continue
                filled = {name: text for name, text in raw.items() if text != ""}
                record = _validate(
                    kind.model, {**filled, "file": path.stem, "origin": origin}, f"{shown}:{number}", problems
                )
                if record is not None:
                    rows.append(record)


def read_library(folders: list[Path], check: bool = True) -> Library:
    """Read the data folders in order (later ones are overlays) and check them against each other.

    Raises:
        BadRecordsError: listing every problem found in every file.
    """
    from rackfit.records.rules import broken_rules

    library = Library()
    problems: list[Problem] = []
    for index, folder in enumerate(folders):
        origin = "release" if index == 0 else "local"
        if not folder.is_dir():
            problems.append(Problem(str(folder), "", None, "a data folder"))
            continue
        _read_sources(folder, library, problems, origin)
        _read_records(folder, library, problems, origin)
        _read_csv(folder, library, problems, origin)
    if check:
        problems.extend(broken_rules(library))
    if problems:
        raise BadRecordsError(sorted(set(problems), key=str) if _hashable(problems) else problems)
    return library


def _hashable(problems: list[Problem]) -> bool:
    return all(isinstance(problem.value, (str, int, float, bool, type(None))) for problem in problems)


def iter_records(library: Library) -> Iterator[tuple[str, str, Any]]:
    """Yield (kind, slug, record) over every record that has provenance, in a stable order."""
    for kind in RECORD_KINDS:
        for slug in sorted(library.kind(kind.name)):
            yield kind.name, slug, library.kind(kind.name)[slug]
