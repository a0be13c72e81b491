"""Templates of every kind of record, made from the record models, the field guide and real records.

A template states one real record; every field that the record does not have follows as a comment with a value that
another record has. `docs/generate.py` puts them between the marks in data/README.md.
"""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from rackfit.paths import packaged
from rackfit.records.base import Record
from rackfit.records.fieldguide import guide
from rackfit.records.kinds import CSV_KINDS, RECORD_KINDS
from rackfit.records.load import Library, read_library
from rackfit.records.sources import Source

BASES = {
    "accelerators": "nvidia-l4",
    "interconnects": "nvlink-4",
    "systems": "aws-p4d-24xlarge",
    "models": "qwen/qwen3-0.6b",
    "precisions": "awq_int4_g128",
    "runtimes": "lmdeploy",
    "runtime_budgets": "vllm-v1-0.33",
    "recipes": "qlora_nf4",
    "workloads": "chat-8k",
}
"""Kind -> the record that its template states; other kinds take their first."""

AUTOMATIC = frozenset({"slug", "file", "origin"})
"""Fields that come from the file and are never typed."""
WIDTH = 110
"""Characters of a line of comment."""


def templates() -> str:
    """Return one section per kind of record, and one for sources, as Markdown."""
    library = read_library([packaged("data")])
    parts = [_source_section(library)]
    parts += [_record_section(kind, library) for kind in RECORD_KINDS]
    parts += [_csv_section(kind, library) for kind in CSV_KINDS]
    return "\n\n".join(parts) + "\n"


def _source_section(library: Library) -> str:
    key, base = min(library.sources.items())
    lines = [f"[{key}]", *_fields(Source, base, list(library.sources.values()), "sources")]
    return _section("sources", "`data/sources/<subject>.toml`, one table per key", lines, "toml")


def _record_section(kind: Any, library: Library) -> str:
    records = library.kind(kind.name)
    slug = BASES.get(kind.name, "")
    base = records.get(slug) or records[min(records)]
    folder = f"`data/{kind.folder}/{'<org>/' if kind.slug_has_folder else ''}<slug>.toml`"
    lines = list(_fields(kind.model, base, list(records.values()), kind.name))
    return _section(kind.name, f"{folder}, one file per record; subfolders are free", lines, "toml")


def _csv_section(kind: Any, library: Library) -> str:
    rows = library.rows[kind.name]
    names = [name for name in kind.model.model_fields if name not in AUTOMATIC]
    required = kind.required_columns()
    lines = [_meaning(kind.name, name, name in required, []) for name in names]
    handle = io.StringIO()
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(names)
    shown = rows[0].model_dump(mode="json")
    writer.writerow(["" if shown[name] is None else shown[name] for name in names])
    listed = [f"- `{name}`: {line}" for name, line in zip(names, lines, strict=True)]
    head = f"### {kind.name}\n\n`data/{kind.folder}/*.csv`, one row per record; an unknown value is an empty cell.\n"
    return head + "\n" + "\n".join(listed) + f"\n\n```csv\n{handle.getvalue()}```"


def _section(name: str, place: str, lines: list[str], language: str) -> str:
    body = "\n".join(lines)
    return f"### {name}\n\n{place}.\n\n```{language}\n{body}\n```"


def _fields(
    model: type[BaseModel], base: BaseModel | None, others: list[Any], table: str, path: str = ""
) -> Iterator[str]:
    """Yield the lines of a record or part: values first, then the parts that are tables of their own."""
    tables = []
    last = [name for name in Record.model_fields if name in model.model_fields]
    for name in [*(name for name in model.model_fields if name not in last), *last]:
        info = model.model_fields[name]
        if name in AUTOMATIC:
            continue
        part = _part(info.annotation)
        stated = base is not None and name in base.model_fields_set
        value = getattr(base, name) if stated else _sample(others, name)
        if part is not None or isinstance(value, dict):
            tables.append((name, part, value, stated, info.annotation))
            continue
        mark = "" if stated else "# "
        for line in textwrap.wrap(_meaning(table, name, info.is_required(), _choices(info.annotation)), WIDTH):
            yield f"# {line}"
        yield f"{mark}{name} = {_toml('...' if value is None else value)}"
    for name, part, value, stated, annotation in tables:
        yield from _table(name, part, value, stated, annotation, others, table, path)


def _table(
    name: str, part: Any, value: Any, stated: bool, annotation: Any, others: list[Any], table: str, path: str
) -> Iterator[str]:
    """Yield one table of a record; a record that lacks it shows it as a comment."""
    mark = "" if stated else "# "
    yield ""
    for line in textwrap.wrap(_meaning(table, name, False, []), WIDTH):
        yield f"# {line}"
    full = f"{path}.{name}" if path else name
    if part is None:
        yield f"{mark}[{full}]"
        for key, item in (value or {}).items():
            yield f"{mark}{_key(key)} = {_toml(item)}"
        return
    named = _is_dict(annotation)
    siblings = [item for other in others for item in _items(getattr(other, name, None))]
    first = _items(value)[0] if value else None
    key = f".{_key(next(iter(value)))}" if named and value else ""
    one = named or not _is_list(annotation)
    yield f"{mark}[{full}{key}]" if one else f"{mark}[[{full}]]"
    for line in _fields(part, first, siblings, name, full):
        yield line if line.startswith("#") or not line else f"{mark}{line}"


def _items(value: Any) -> list[Any]:
    if isinstance(value, BaseModel):
        return [value]
    return list(value.values()) if isinstance(value, dict) else list(value or [])


def _sample(others: Iterable[Any], name: str) -> Any:
    return next((value for other in others if (value := getattr(other, name, None)) not in (None, [], {})), None)


def _arguments(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from _arguments(argument)


def _part(annotation: Any) -> Any:
    """Return the model of the parts that a field holds, or None."""
    found = (item for item in _arguments(annotation) if isinstance(item, type) and issubclass(item, BaseModel))
    return next(found, None)


def _is_dict(annotation: Any) -> bool:
    return any(get_origin(item) is dict for item in _arguments(annotation))


def _is_list(annotation: Any) -> bool:
    return any(get_origin(item) is list for item in _arguments(annotation))


def _choices(annotation: Any) -> list[str]:
    """Return the values that a closed list allows."""
    for item in _arguments(annotation):
        if getattr(get_origin(item), "__name__", str(get_origin(item))).endswith("Literal"):
            return [str(value) for value in get_args(item)]
    return []


def _meaning(table: str, name: str, required: bool, choices: list[str]) -> str:
    """Return what a field means, its unit, and whether it must be there."""
    entries = guide()
    own = None if name in Record.model_fields else entries.get(f"{table}.{name}")
    entry = own or entries.get(name)
    words = [entry.description if entry else name.replace("_", " ").capitalize()]
    if entry and entry.unit:
        words.append(f"unit: {entry.unit}")
    if any(choice not in words[0] for choice in choices):
        words.append(f"one of {', '.join(choices)}")
    if required:
        words.append("required")
    return "; ".join(words)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)


def _toml(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)
