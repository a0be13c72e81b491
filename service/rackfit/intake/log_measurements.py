"""A log as measurements: rows of the case format, and a file of them to which rows are added whole or not at all."""

from __future__ import annotations

import csv
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from rackfit.accuracy.cases import REQUIRED
from rackfit.errors import UsageError
from rackfit.intake.log_configuration import Configuration
from rackfit.intake.log_estimates import quantities
from rackfit.intake.logs.parsed import Log
from rackfit.memory.budget import GIB, MIB
from rackfit.records.measurements import Measurement
from rackfit.tabular.reading import COMMA_NUMBER, CsvFile, parse_csv

COLUMNS = tuple(name for name in Measurement.model_fields if name not in ("file", "origin"))
"""Columns of data/measurements, in their order."""

UNSAFE = "=+-@\t\r"
"""First characters that a spreadsheet takes for a formula."""
ID_DIGITS = 10


def as_measurement(
    log: Log, configuration: Configuration, source_url: str | None = None, note: str | None = None
) -> list[dict[str, Any]]:
    """Return one row per printed figure that the case format has a quantity for.

    Rows without a model or a device are kept, with lower confidence. An engine's plan is no measurement and gives none.

    Args:
        log: what was printed.
        configuration: what it was printed for.
        source_url: page that shows the log; data/measurements wants one, a file of one's own does not.
        note: remark for every row.
    """
    if log.estimate:
        return []
    rows = [_bytes_row(log, configuration, name) for name in quantities(log.engine) if name in log.amounts]
    rows += _cache_rows(log, configuration)
    if (tokens := log.settings.get("pool_tokens")) is not None:
        row = configuration.row("kv_tokens_total", tokens, "K2")
        if (pool := log.bound("kv_pool")) is not None:
            stated = (row["other_config"], f"kv_gib={pool / GIB:.4f}")
            row["other_config"] = ";".join(part for part in stated if part)
        rows.append({**row, "unit": "tokens"})
    known = configuration.model is not None and configuration.gpu is not None
    prefix = f"LOG-{_fingerprint(log)}"
    finished = []
    for row in rows:
        more = {
            "case_id": f"{prefix}-{row['quantity'].replace('_', '-')}",
            "source_url": source_url,
            "source_note": note,
            "confidence": "high" if known and log.loads == 1 else "medium",
        }
        finished.append({name: _plain({**row, **more}.get(name)) for name in COLUMNS})
    return finished


def _bytes_row(log: Log, configuration: Configuration, component: str) -> dict[str, Any]:
    quantity = quantities(log.engine)[component]
    whole = component == "weights" and log.engine == "llama.cpp"
    size = (log.total(component) if whole else log.bound(component)) or 0
    row = configuration.row(quantity.name, f"{size / GIB:.4f}", quantity.kind, component.startswith("device_"))
    return {**row, "unit": "GiB"}


def _cache_rows(log: Log, configuration: Configuration) -> list[dict[str, Any]]:
    """Return the whole cache of llama.cpp, which prints MiB over all devices."""
    size = log.total("kv")
    if size is None:
        return []
    size += log.total("state") or 0
    return [{**configuration.row("kv_mib_total", f"{size / MIB:.2f}", "K2"), "unit": "MiB"}]


def _fingerprint(log: Log) -> str:
    """Return a short hash of what was printed: the same log gives the same case ids."""
    text = repr((log.engine, sorted(log.settings.items()), sorted((name, sorted(ranks.items())) for name, ranks in
                log.amounts.items())))  # fmt: skip
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def _plain(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers keep their sign."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    if text.startswith("-") and text[1:].replace(".", "", 1).isdigit():
        return text
    return text.lstrip(UNSAFE) or None


def append(path: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Add rows to a CSV file of cases and return how many were new. The file is replaced at once or left as it was.

    Raises:
        UsageError: the file is there and is no CSV of cases, or it cannot be written.
    """
    try:
        existing = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected CSV in UTF-8 ({error})") from error
    file = _known(path, existing)
    known = {row["case_id"]: row["value"] for _, row in file.records()}
    fresh = [row for row in rows if row["case_id"] not in known]
    if any(COMMA_NUMBER.fullmatch(value) for value in known.values()):
        fresh = [{**row, "value": str(row["value"]).replace(".", ",")} for row in fresh]
    if not fresh and existing:
        return 0
    written = StringIO()
    written.write(existing if not existing or existing.endswith("\n") else existing + "\n")
    writer = csv.DictWriter(written, file.header, extrasaction="ignore", lineterminator="\n", delimiter=file.delimiter)
    if not existing:
        writer.writeheader()
    writer.writerows(fresh)
    _replace(path, written.getvalue())
    return len(fresh)


def _known(path: Path, existing: str) -> CsvFile:
    """Return the file that is there, or one that has only its header; a spreadsheet may have saved it."""
    if not existing.strip():
        return CsvFile(path.name, COLUMNS, ",", ())
    file = parse_csv(existing, str(path))
    if missing := [name for name in REQUIRED if name not in file.header]:
        raise UsageError(f"{path}: is no file of cases, no column {', '.join(missing)}")
    return file


def _replace(path: Path, text: str) -> None:
    """Write a file beside the target and put it in its place."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8", newline="") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path.resolve())
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
