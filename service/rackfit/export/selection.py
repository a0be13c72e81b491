"""What to take: a table, a view, a named query or a SELECT of one's own."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import accumulate
from typing import Any

from rackfit.errors import UnknownNameError, UsageError

_SELECT = re.compile(r"^\s*(select|with|values)\b", re.IGNORECASE)
_HIDDEN = re.compile(r"^(sqlite_|_sqlite)")


@dataclass(frozen=True, slots=True)
class Selection:
    """A name for the result, its SQL, the values of the parameters, and the table it is of, if it is one."""

    name: str
    sql: str
    values: Mapping[str, Any] = field(default_factory=dict)
    table: str | None = None


def relations(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tables and views that hold facts or answers."""
    rows = connection.execute("select name from sqlite_master where type in ('table', 'view') order by name")
    return [name for (name,) in rows if not _HIDDEN.match(name)]


def is_sql(text: str) -> bool:
    """Say whether text is a SELECT and not a name."""
    return _SELECT.match(text) is not None


def select(
    connection: sqlite3.Connection,
    what: str,
    where: str | None = None,
    queries: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
) -> Selection:
    """Find what is meant by a name or a SELECT.

    `queries` maps the names of prepared queries to their SQL; a parameter that is not given is empty there. `where`
    is a condition in SQL on the columns of the result.

    Raises:
        UnknownNameError: neither table, view nor query, with near names.
        UsageError: not exactly one SELECT, or a parameter without a value.
    """
    known = dict(queries or {})
    tables = relations(connection)
    if is_sql(what):
        name, sql, table = "query", _one(what), None
    elif what in tables:
        name, sql, table = what, f'select * from "{what}"', what
    elif what in known:
        name, sql, table = what, _one(known[what]), None
        values = {**dict.fromkeys(_parameters(sql), ""), **(values or {})}
    else:
        everything = [*tables, *known]
        raise UnknownNameError("table, view or query", what, get_close_matches(what, everything, n=5, cutoff=0.5))
    if where:
        sql = f"select * from ({sql}) where {_condition(where)}"
    return Selection(name, sql, _bound(sql, values or {}), table)


def _one(sql: str) -> str:
    return sql.strip().rstrip(";").rstrip()


def _condition(where: str) -> str:
    """Keep a condition a condition: complete, and one."""
    depths = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in where))
    if ";" in where or "--" in where or min(depths, default=0) < 0 or depths[-1:] not in ([0], []):
        raise UsageError(f"condition {where!r}: expected one SQL condition, such as verdict = 'fits'")
    return f"({where})"


def _bound(sql: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give every parameter of the SQL a value; an absent one is an error and not empty."""
    names = _parameters(sql)
    missing = [name for name in names if name not in values]
    if missing:
        raise UsageError(f"no value for {', '.join(missing)}: add --param {missing[0]} VALUE")
    return {name: values[name] for name in names}


def _parameters(sql: str) -> list[str]:
    """Return the names of the parameters of an SQL text, those in quotes left out."""
    bare = re.sub(r"'(?:[^']|'')*'", "", sql)
    return list(dict.fromkeys(re.findall(r"(?<!:):([a-zA-Z_]\w*)", bare)))
