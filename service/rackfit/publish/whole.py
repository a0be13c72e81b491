"""Whole tables and queries as files: Datasette's own CSV ends after a page of rows without a word.

Rows are collected over the pages of Datasette's JSON, so that filters, order and permissions are those of the page;
a query whose answer was cut runs once more without the cut. What is too much for one answer is refused with the way
that has no limit, and never cut.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from datasette.database import QueryInterrupted
from datasette.utils.asgi import Response

from rackfit.errors import RackfitError, UsageError
from rackfit.publish import named_queries
from rackfit.publish.answers import Answers
from rackfit.publish.pages.common import ask, error_body
from rackfit.publish.pages.download import file_response, refusal
from rackfit.publish.settings import DATABASE, is_catalog
from rackfit.tabular.table import Table

MOST = 50_000
"""Rows of one answer; a table with more is streamed by Datasette, a view with more is taken on the command line."""
OWN_WAYS = ("_stream", "_next", "_trace", "_header", "_labels", "_shape")
"""Parameters with which somebody asks for Datasette's own CSV."""
PAGE = re.compile(rf"^/{DATABASE}(?:/(?P<name>[^/]+)|/-/query)?\.csv$")

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Place:
    """A table, view or query of the catalog, with what its address asks of it."""

    path: str
    name: str | None
    pairs: Pairs

    @property
    def asked(self) -> dict[str, str]:
        """The parameters, the last of each name."""
        return dict(self.pairs)

    @property
    def sql(self) -> str | None:
        """The SQL of a named query or of the address; None for a table or view."""
        query = named_queries.read().get(self.name or "")
        return query.sql if query is not None else self.asked.get("sql")


class RefusedError(RackfitError):
    """What Datasette says to a request, with its status."""

    def __init__(self, status: int, text: str) -> None:
        self.http_status = status
        super().__init__(text)


async def collect(datasette: Any, place: Place) -> tuple[list[str], list[Sequence[Any]]]:
    """Return columns and all rows of a place.

    Raises:
        RefusedError: what Datasette refuses: an unknown name, bad SQL, a bad parameter.
        UsageError: more rows than one answer holds, or a query that takes too long.
    """
    columns: list[str] = []
    rows: list[Sequence[Any]] = []
    more: Pairs = []
    kept = [(name, value) for name, value in place.pairs if name not in ("_size", "_dl")]
    extra = "columns" if place.sql is not None else "columns,count"  # Datasette 1.0 refuses a query's count
    while True:
        fixed = [("_shape", "objects"), ("_size", "max"), ("_nofacet", "1"), ("_extra", extra), *more]
        address = f"{place.path}.json?{urlencode([*kept, *fixed])}"
        response = await datasette.client.get(address, follow_redirects=True)
        body, status = _body(response), response.status_code
        if status != 200 or "rows" not in body:
            raise RefusedError(status, str(body.get("error") or body.get("title") or f"{place.path} has no rows"))
        if body.get("truncated") and place.sql is not None:
            return await _run(datasette, place, place.sql)
        if (body.get("filtered_table_rows_count") or body.get("count") or 0) > MOST:
            raise _too_many(place)
        columns = body.get("columns") or columns
        rows += [tuple(row.get(name) for name in columns) for row in body["rows"]]
        if len(rows) > MOST:
            raise _too_many(place)
        if not body.get("next"):
            return columns, rows
        more = [("_next", str(body["next"]))]


def _body(response: Any) -> dict[str, Any]:
    """Return the JSON of a response, empty where it has none."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


async def _run(datasette: Any, place: Place, sql: str) -> tuple[list[str], list[Sequence[Any]]]:
    """Return columns and rows of a query whose answer Datasette cut."""
    database = datasette.databases[DATABASE]
    limited = f"select * from (\n{sql.strip().rstrip(';')}\n) limit {MOST + 1}"
    names = re.findall(r"(?<![:\w]):([a-zA-Z_]\w*)", sql)
    try:
        found = await database.execute(limited, {name: place.asked.get(name, "") for name in names}, truncate=False)
    except (QueryInterrupted, sqlite3.Error) as error:
        raise UsageError(f"the query takes too long for a page: rackfit export has no limit ({error})") from error
    if len(found.rows) > MOST:
        raise _too_many(place)
    return list(found.columns), [tuple(row) for row in found.rows]


def _too_many(place: Place) -> UsageError:
    what = place.name or "the query"
    return UsageError(f"{what} has more than {MOST:,} rows: filter it, or take all of it with `rackfit export`")


async def answer(datasette: Any, place: Place, ending: str) -> Any:
    """Return a place as a file.

    Raises:
        RefusedError, UsageError: as `collect`.
    """
    columns, rows = await collect(datasette, place)
    return await ask(
        datasette.databases[DATABASE],
        lambda answers: file_response(_described(answers, place, columns, rows), ending),
    )


def _described(answers: Answers, place: Place, columns: list[str], rows: list[Sequence[Any]]) -> Table:
    from rackfit.export.columns import describe_columns
    from rackfit.export.run import catalog_notes
    from rackfit.export.selection import Selection
    from rackfit.export.sources import sources_of

    table = place.name if place.sql is None else None
    name = place.name or "query"
    selection = Selection(name, place.sql or "", {}, table)
    asked = [("taken", name), ("address", f"{place.path}?{urlencode(place.pairs)}")]
    return Table(
        name, describe_columns(answers.connection, columns, table), rows,
        [*asked, *catalog_notes(answers.connection)], sources_of(answers.connection, selection),
    )  # fmt: skip


async def render_workbook(
    datasette: Any, database: str, table: str | None, query_name: str | None, request: Any
) -> Any:
    """Answer the `.xlsx` of a table, view or query."""
    path = quote(request.path).removesuffix(".xlsx")
    place = Place(path, table or query_name, parse_qsl(request.query_string, keep_blank_values=True))
    try:
        return await answer(datasette, place, "xlsx")
    except RackfitError as error:
        return refusal(error_body(error))


def can_render(datasette: Any, database: str, view_name: str | None) -> bool:
    """Return whether a workbook is offered: of the catalog's tables and queries, where XlsxWriter is installed."""
    opened = datasette.databases.get(database)
    return view_name != "row" and opened is not None and is_catalog(opened.path) and bool(find_spec("xlsxwriter"))


def with_whole_csv(app: App, datasette: Any) -> App:
    """Return an application whose CSV of tables, views and queries of the catalog is whole."""

    async def wrapped(scope: dict[str, Any], receive: Any, send: Any) -> None:
        response = await _whole_csv(scope, datasette) if scope["type"] == "http" else None
        if response is None:
            await app(scope, receive, send)
        else:
            await response.asgi_send(send)

    return wrapped


async def _whole_csv(scope: dict[str, Any], datasette: Any) -> Any:
    """Return the whole CSV, None where the request is Datasette's to answer."""
    matched = PAGE.match(scope.get("path", ""))
    pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    asked = dict(pairs)
    own = any(name in asked for name in OWN_WAYS) or asked.get("_size", "max") != "max"
    if matched is None or scope.get("method") != "GET" or own:
        return None
    place = Place(quote(scope["path"].removesuffix(".csv")), matched["name"], pairs)
    try:
        return await answer(datasette, place, "csv")
    except RackfitError as error:
        if isinstance(error, UsageError) and place.sql is None and await _streams(datasette, place):
            kept = [(name, value) for name, value in pairs if name != "_size"]
            return Response.redirect(f"{place.path}.csv?{urlencode([*kept, ('_stream', 'on')])}")
        return refusal(error_body(error))


async def _streams(datasette: Any, place: Place) -> bool:
    """Return whether Datasette can stream a place page by page: a table, which has a key to go on from."""
    sql = "select 1 from sqlite_master where type = 'table' and name = ?"
    return bool((await datasette.databases[DATABASE].execute(sql, [place.name])).first())
