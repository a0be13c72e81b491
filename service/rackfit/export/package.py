"""The side-car `datapackage.json`: what the files beside it are, in the words of the Frictionless Data Package.

Several exports may share a folder: each is one resource, and writing one again replaces it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rackfit.errors import UsageError
from rackfit.tabular.csv_file import Dialect
from rackfit.tabular.formats import Format
from rackfit.tabular.table import Column, Table

FILE_NAME = "datapackage.json"
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
PACKAGE_NAME = "rackfit-export"
LICENCE = {
    "name": "CC-BY-4.0",
    "title": "Creative Commons Attribution 4.0",
    "path": "https://creativecommons.org/licenses/by/4.0/",
}
IMPORT_AS_TEXT = (
    "Import identifiers, versions and lists of numbers as text: spreadsheets turn 1-2 into a date and cut long "
    "numbers to 15 digits. Text that starts like a formula carries a leading apostrophe in CSV."
)


def resource(path: Path, table: Table, chosen: Format, dialect: Dialect, facts: dict[str, Any]) -> dict[str, Any]:
    """Describe one file; `facts` are catalog_version, catalog_hash, rows, bytes, hash and what was asked."""
    described: dict[str, Any] = {
        "name": table.name,
        "path": path.name,
        "type": "table",
        "format": chosen.name,
        "mediatype": chosen.mediatype,
    }
    if chosen.name == "csv":
        described["encoding"] = "utf-8"
        described["dialect"] = {
            "delimiter": dialect.delimiter,
            "lineTerminator": "\r\n",
            "doubleQuote": True,
            "header": True,
            **({"byteOrderMark": True} if dialect.excel else {}),
        }
    if chosen.name == "xlsx":
        described["dialect"] = {"sheetName": "data", "headerRows": [1]}
    return {
        **described,
        **facts,
        "schema": {
            "fields": [_field(column, dialect) for column in table.columns],
            "missingValues": [""],
        },
        "sources": [dict(source) for source in table.sources],
    }


def _field(column: Column, dialect: Dialect) -> dict[str, str]:
    field = column.as_field()
    if dialect.decimal_comma and field["type"] == "number":
        field["decimalChar"] = ","
    return field


def write_package(folder: Path, described: dict[str, Any]) -> Path:
    """Write the side-car, or replace this file's entry in the one that is there.

    Raises:
        UsageError: the folder holds a datapackage.json of somebody else.
    """
    target = folder / FILE_NAME
    others = [item for item in _present(target) if item.get("path") != described["path"]]
    package = {
        "$schema": PROFILE,
        "name": PACKAGE_NAME,
        "title": "Export of a Rackfit catalog",
        "description": IMPORT_AS_TEXT,
        "licenses": [LICENCE],
        "resources": sorted([*others, described], key=lambda item: str(item["path"])),
    }
    temporary = target.with_name(f".{target.name}.{os.getpid()}.writing")
    try:
        temporary.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def check_folder(folder: Path) -> None:
    """Refuse a folder whose side-car is not ours, before anything is written.

    Raises:
        UsageError: naming the file.
    """
    _present(folder / FILE_NAME)


def _present(target: Path) -> list[dict[str, Any]]:
    """Return the resources that a side-car of ours lists."""
    if not target.exists():
        return []
    try:
        package = json.loads(target.read_text(encoding="utf-8"))
        if package["name"] == PACKAGE_NAME:
            return list(package["resources"])
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{target} is not by Rackfit: choose another folder, or leave the side-car out with --no-package")
