"""`rackfit diff`: the table, the document, the file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from cli.test_commands import one_line, rackfit
from rackfit.assemble import build


def two(small_data: Path, tmp_path: Path) -> tuple[str, str]:
    """Build two catalogs that differ in one model."""
    new = build(tmp_path / "new.db", [small_data], must_exist=False).target
    (small_data / "models/mistralai/mistral-7b-v0.1.toml").unlink()
    return str(build(tmp_path / "old.db", [small_data], must_exist=False).target), str(new)


def test_table_document_and_file(small_data: Path, tmp_path: Path) -> None:
    """All three say that the model is new; the file has one line per change."""
    old, new = two(small_data, tmp_path)
    target = tmp_path / "changes.csv"
    shown, document = rackfit("diff", old, new), json.loads(rackfit("diff", old, new, "--json").stdout)
    written = rackfit("diff", old, new, "-o", str(target))

    assert "mistralai/mistral-7b-v0.1" in shown.stdout and "no verdict flipped" in shown.stdout
    assert {"table": "models", "key": "mistralai/mistral-7b-v0.1"}.items() <= next(
        change for change in document["changes"] if change["table"] == "models"
    ).items()
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert written.returncode == 0
    assert len(rows) == len(document["changes"]) and {row["about"] for row in rows} == {"fact"}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """One line that names it."""
    done = rackfit("diff", str(tmp_path / "none.db"), str(tmp_path / "nor.db"))

    assert done.returncode == 1 and one_line(done.stderr) and "none.db" in done.stderr
