"""A spreadsheet program opens the files: LibreOffice, where it is installed."""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from rackfit.ask.quote import QuoteQuestion, quote
from rackfit.ask.train import TrainQuestion, train_one
from rackfit.export.answers import breakdown
from rackfit.export.quote_table import quote_table
from rackfit.export.run import export, export_table, table_of
from rackfit.export.selection import select
from rackfit.tabular.csv_file import COMMA_LOCALE
from rackfit.tabular.formats import FORMATS
from rackfit.tabular.table import Table

OFFICE = shutil.which("soffice") or shutil.which("libreoffice")

pytestmark = [
    pytest.mark.office,
    pytest.mark.skipif(OFFICE is None, reason="LibreOffice (soffice) is not installed: not run"),
]

AS_STORED = "csv:Text - txt - csv (StarCalc):44,34,76,1,1,0,false,false,false"
"""Comma, double quote, UTF-8, from the first line; cells as they are stored and not as they are shown."""
GERMAN = "CSV:59,34,76,1,,1031"
"""Semicolon, double quote, UTF-8, from the first line, numbers as in German."""
DIGITS = 1e-14
"""LibreOffice writes 15 digits of a number into CSV."""
TAKEN = "select * from accelerators order by accelerator_id"


def convert(path: Path, to: str, *more: str) -> Path:
    """Open a file in LibreOffice, save it in another format, and return that file."""
    profile = (path.parent / "profile").as_uri()
    folder = path.parent / "converted"
    command = [str(OFFICE), f"-env:UserInstallation={profile}", "--headless", "--norestore", *more]
    done = subprocess.run(
        [*command, "--convert-to", to, "--outdir", str(folder), str(path)],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    found = folder / path.with_suffix("." + to.split(":")[0]).name
    assert found.exists(), done.stderr or done.stdout
    return found


def table_of_accelerators(connection: sqlite3.Connection) -> Table:
    """Return every fact of every accelerator."""
    return table_of(connection, select(connection, TAKEN))


def table_of_a_quote(connection: sqlite3.Connection) -> Table:
    """Return a purchase list with devices, systems and what does not fit."""
    machines = ("nvidia-dgx-h100", "8x mi300x", "aws-p5-48xlarge", "rtx-4090", "A100 80GB")
    return quote_table(connection, quote(connection, QuoteQuestion(models=("Qwen3-32B", "gpt-oss-120b"), on=machines)))


def table_of_a_training_run(connection: sqlite3.Connection) -> Table:
    """Return the breakdown of a training run, whose GiB are formulas."""
    answer = train_one(connection, TrainQuestion(model="Llama-3.1-8B", on="8x h100-sxm5-80gb"))
    return breakdown(connection, answer, "training")


@pytest.mark.parametrize("make", [table_of_accelerators, table_of_a_quote, table_of_a_training_run])
def test_the_workbook_has_the_figures_of_the_csv(
    connection: sqlite3.Connection, tmp_path: Path, make: Callable[[sqlite3.Connection], Table]
) -> None:
    """Every cell of the workbook, as LibreOffice reads and computes it, is that of our CSV."""
    export_table(connection, make(connection), tmp_path / "a.csv", {})
    export_table(connection, make(connection), tmp_path / "book.xlsx", {}, chosen=FORMATS["xlsx"])
    ours = list(csv.reader(io.StringIO((tmp_path / "a.csv").read_text(encoding="utf-8"), newline="")))
    text = convert(tmp_path / "book.xlsx", AS_STORED).read_text(encoding="utf-8-sig")
    theirs = list(csv.reader(io.StringIO(text, newline="")))
    assert theirs[0] == ours[0] and len(theirs) == len(ours) > 5
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        for name, one, two in zip(ours[0], mine, other, strict=True):
            assert two == one or float(two) == pytest.approx(float(one), rel=DIGITS), (mine[0], name, one, two)


def test_a_decimal_comma_file_opens_in_columns(connection: sqlite3.Connection, tmp_path: Path) -> None:
    """Trial R111: with German settings the file has our columns, and its fractions are numbers."""
    sql = (
        "select accelerator_id, memory_bandwidth_gb_s, tdp_w from accelerators where memory_bandwidth_gb_s is not null"
    )
    report = export(connection, select(connection, sql), tmp_path / "komma.csv", COMMA_LOCALE)
    sheet = openpyxl.load_workbook(convert(tmp_path / "komma.csv", "xlsx", f"--infilter={GERMAN}")).active
    expected = connection.execute(sql).fetchall()
    assert sheet.max_row == report.rows + 1 and sheet.max_column == 3
    assert sheet["A1"].value == "accelerator_id"
    for row, (key, bandwidth, _) in zip(sheet.iter_rows(min_row=2), expected, strict=True):
        assert row[0].value == key and row[1].data_type == "n"
        assert row[1].value == pytest.approx(bandwidth, rel=1e-12)
