"""Tables of pages as files: the formats that pages offer, named after what is in them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from datasette.utils.asgi import Response

from rackfit.errors import RackfitError
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, error_body
from rackfit.tabular.csv_file import COMMA_LOCALE
from rackfit.tabular.formats import FORMATS, writer_of
from rackfit.tabular.table import Table

OFFERED = ("csv", "xlsx")
"""Formats that a page answers with beside HTML and JSON; `_locale=comma` is for CSV."""

FILES = (("csv", "CSV"), ("xlsx", "workbook"))
"""The same with the words of their links."""


def file_response(table: Table, name: str, locale: str = "") -> Response:
    """Return a table as a file to save, in one of the formats that are offered. It takes a while: in a thread.

    Raises:
        MissingExtraError: the format needs a library that is not installed.
        UsageError: the format cannot hold the table.
    """
    held, chosen = io.BytesIO(), FORMATS[name]
    writer_of(chosen, COMMA_LOCALE if name == "csv" and locale == "comma" else None)(table, held)
    charset = "; charset=utf-8" if name == "csv" else ""
    disposition = "inline" if name == "csv" else "attachment"
    return Response(
        held.getvalue(),
        headers={"content-disposition": f'{disposition}; filename="{file_name(table, name)}"'},
        content_type=chosen.mediatype + charset,
    )


async def table_file(
    database: Any, ending: str, table: Callable[[Answers], Table], problem: dict[str, Any] | None, locale: str = ""
) -> Response:
    """Return a table, made in a thread, as a file to save; a problem, found before or on the way, as text."""
    try:
        if problem is None:
            return await ask(database, lambda answers: file_response(table(answers), ending, locale))
    except RackfitError as error:
        problem = error_body(error)
    return refusal(problem)


async def answer_file(
    database: Any,
    ending: str,
    found: Mapping[str, Any] | None,
    asked: Mapping[str, Any],
    name: str,
    problem: dict[str, Any] | None = None,
) -> Response:
    """Return an answer as a file to save: a list row by row, one answer part by part; a problem as text."""

    def table(answers: Answers) -> Table:
        from rackfit.export.answers import breakdown, listed

        answer = found or {}
        if "results" in answer:
            return listed(answers.connection, answer["results"], asked, name)
        return breakdown(answers.connection, answer, name)

    return await table_file(database, ending, table, problem)


async def rows_file(
    database: Any,
    ending: str,
    name: str,
    rows: Iterable[Mapping[str, Any]],
    asked: Mapping[str, Any],
    problem: dict[str, Any] | None = None,
) -> Response:
    """Return one of `export.page_tables` as a file to save, or its problem as text."""

    def table(answers: Answers) -> Table:
        from rackfit.export.page_tables import page_table

        return page_table(answers.connection, name, rows, asked)

    return await table_file(database, ending, table, problem)


def file_name(table: Table, ending: str) -> str:
    """Return a file's name: what is in it and the release of the catalog."""
    release = dict(table.notes).get("catalog version", "")
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", f"rackfit-{table.name}-{release}").strip("-")
    return f"{plain}.{ending}"


def refusal(problem: dict[str, Any]) -> Response:
    """Return an error in place of a file, as a line of text."""
    return Response.text(f"{problem['error']}\n", status=problem["status"])
