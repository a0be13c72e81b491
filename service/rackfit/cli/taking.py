"""`rackfit export` and `rackfit sql`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rackfit.cli.options import catalog_option, catalog_path, json_option, opened, with_options
from rackfit.cli.showing import show_json, show_table
from rackfit.errors import CatalogError, UsageError

if TYPE_CHECKING:
    from rackfit.tabular.csv_file import Dialect
    from rackfit.tabular.formats import Format
    from rackfit.tabular.table import Table

FILE = click.Path(path_type=Path, dir_okay=False)
PARAMETER = click.option(
    "--param", "-p", "params", nargs=2, multiple=True, metavar="NAME VALUE", help="Value of a :name"
)
SQL_FAULTS = (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.IntegrityError)
"""Errors of SQLite that a query brings about; what remains is the file's fault."""
MOST_SHOWN = 1000
"""Rows that a table for people shows; programs and files get all."""


@contextmanager
def _with_functions(catalog: Path | None) -> Iterator[sqlite3.Connection]:
    """Open the catalog for questions in SQL: Rackfit's functions are there, and no other file can be reached."""
    from rackfit.publish.errors_in_sql import error_text
    from rackfit.publish.sql_functions import register_functions

    with opened(catalog) as connection:
        register_functions(connection, catalog_path(catalog))
        connection.set_authorizer(_reads_only)
        try:
            yield connection
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, SQL_FAULTS):
                raise CatalogError(f"the catalog cannot answer: {error}") from error
            raise UsageError(f"SQL: {error_text(error)}") from error


def _reads_only(action: int, first: str | None, *_: str | None) -> int:
    """Refuse to attach other files; the catalog itself is opened for reading only."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def _values(params: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {name: _number(text) for name, text in params}


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_FILE_OPTIONS = (
    click.option("--output", "-o", type=FILE, help="File to write: .csv .xlsx .parquet .json .jsonl"),
    click.option(
        "--format", "named_format", help="csv, xlsx, parquet, json or jsonl  [default: the file's ending, else csv]"
    ),
    click.option("--delimiter", help="One of , ; | or a tab  [default: , or ; with --decimal-comma]"),
    click.option("--excel", is_flag=True, help="Byte order mark, so that Excel reads UTF-8"),
    click.option("--decimal-comma", is_flag=True, help="Numbers as 1,5: for spreadsheets in many European settings"),
    click.option(
        "--locale",
        type=click.Choice(["point", "comma"]),
        help="comma: a CSV that a spreadsheet with decimal comma opens in columns (; and 1,5 and the mark)",
    ),
    click.option("--no-package", is_flag=True, help="No datapackage.json beside the file"),
)


file_options = with_options(_FILE_OPTIONS)
"""Gives a command the options that say into which file and how."""


@dataclass(frozen=True)
class Wanted:
    """Where and how something is written."""

    output: Path | None
    chosen: Format
    dialect: Dialect | None
    package: bool

    @classmethod
    def read(cls, asked: Mapping[str, Any]) -> Wanted:
        """Return what the options say.

        Raises:
            UsageError: options that contradict one another, or an unknown format.
        """
        from rackfit.tabular.formats import format_of

        chosen = format_of(asked["output"], asked["named_format"])
        return cls(asked["output"], chosen, _dialect(asked), not asked["no_package"])

    @classmethod
    def at(cls, output: Path) -> Wanted:
        """Return a file whose ending says how it is written.

        Raises:
            UsageError: an unknown ending.
        """
        from rackfit.tabular.formats import format_of

        return cls(output, format_of(output, None), None, True)

    def write(self, connection: sqlite3.Connection, table: Table, facts: Mapping[str, Any]) -> None:
        """Write a table, to standard output where no file is named, and say on stderr what was written."""
        from rackfit.catalog.release import newest_release
        from rackfit.export.run import export_table
        from rackfit.tabular.formats import writer_of

        if self.output is None:
            rows = writer_of(self.chosen, self.dialect)(table, sys.stdout.buffer)
        else:
            rows = export_table(
                connection, table, self.output, facts, self.dialect, self.package, self.chosen
            ).rows  # fmt: skip
        place, version = self.output or "standard output", newest_release(connection).version
        noun = "row" if rows == 1 else "rows"
        click.echo(f"{rows:,} {noun} of {table.name}, catalog {version}, to {place}", err=True, color=False)


def _dialect(asked: Mapping[str, Any]) -> Dialect | None:
    """Return how a CSV is written; None where no option says anything about it."""
    from rackfit.tabular.csv_file import COMMA_LOCALE, Dialect

    own = (asked["delimiter"], asked["excel"], asked["decimal_comma"])
    if asked["locale"] is not None:
        if any(own):
            raise UsageError("--locale sets delimiter, mark and decimal sign together: leave the other options out")
        return COMMA_LOCALE if asked["locale"] == "comma" else None
    if not any(own):
        return None
    delimiter = {None: ";" if asked["decimal_comma"] else ",", "\\t": "\t", "tab": "\t"}.get(asked["delimiter"])
    return Dialect(delimiter or asked["delimiter"], asked["excel"], asked["decimal_comma"])


class Target(click.ParamType):
    """A file whose ending says how it is written."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the ending, or say which there are."""
        return value if isinstance(value, Wanted) else Wanted.at(FILE.convert(value, param, ctx))


output_option = click.option(
    "--output", "-o", type=Target(), help="Write the answer to a file: .csv .xlsx .parquet .json .jsonl"
)
"""Gives a command about one question a file to write its answer to."""


@click.command(short_help="A table, view, query or SELECT as CSV, workbook, Parquet or JSON")
@click.argument("what")
@file_options
@click.option("--where", help="Condition in SQL, such as \"verdict = 'fits'\"")
@PARAMETER
@catalog_option
def export(what: str, where: str | None, catalog: Path | None, **asked: Any) -> None:
    """Write WHAT to a file, with a datapackage.json that says what it is; without a file, CSV to standard output.

    WHAT is a table, a view, a named query or a SELECT. The file's ending chooses CSV (RFC 4180), an Excel workbook,
    Parquet or JSON. The side-car states columns with unit, rows, catalog version, checksum, licence and sources; a
    workbook has them in its sheets. A purchase list is `rackfit export quote`.

    \b
    rackfit export accelerators -o accelerators.xlsx
    rackfit export fits_with_cost --where "model_id = 'qwen/qwen3-32b' and verdict = 'fits'" -o fits.parquet
    rackfit export "select name, memory_gb from accelerators" --locale comma -o list.csv
    """
    from rackfit.export.run import table_of
    from rackfit.export.selection import select

    wanted = Wanted.read(asked)
    with _with_functions(catalog) as connection:
        selection = select(connection, what, where, _named_queries(), _values(asked["params"]))
        table = table_of(connection, selection, typed=wanted.chosen.name == "parquet")
        wanted.write(connection, table, {"query": selection.sql, "parameters": dict(selection.values)})


def _named_queries() -> Mapping[str, str]:
    from rackfit.publish.named_queries import read

    return {slug: query.sql for slug, query in read().items()}


@click.command(short_help="Any SELECT, with Rackfit's functions")
@click.argument("query")
@PARAMETER
@click.option("--csv", "as_csv", is_flag=True, help="CSV instead of a table")
@json_option
@catalog_option
def sql(query: str, params: tuple[tuple[str, str], ...], as_csv: bool, as_json: bool, catalog: Path | None) -> None:
    """Run QUERY, one SELECT, on the catalog; nothing can be changed.

    \b
    rackfit sql "select vendor, count(*) from accelerators group by vendor"
    rackfit sql "select gib(weights_bytes('qwen/qwen3-32b', 'bf16'))"
    """
    if as_csv and as_json:
        raise click.UsageError("--csv or --json, not both", click.get_current_context())
    from rackfit.export.run import write_stream
    from rackfit.export.selection import is_sql, select

    if not is_sql(query):
        raise UsageError("expected one SELECT")
    more = False
    with _with_functions(catalog) as connection:
        selection = select(connection, query, values=_values(params))
        if as_csv:
            write_stream(connection, selection, sys.stdout.buffer)
            return
        cursor = connection.execute(selection.sql, dict(selection.values))
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall() if as_json else cursor.fetchmany(MOST_SHOWN)
        more = not as_json and cursor.fetchone() is not None
    listed = [dict(zip(names, row, strict=True)) for row in rows]
    if as_json:
        show_json({"query": {"sql": query, **dict(params)}, "results": listed})
        return
    show_table(listed, empty="no rows")
    if more:
        click.echo(f"cut after {MOST_SHOWN:,} rows: --csv and --json give all", err=True, color=False)
