"""What Datasette's own pages leave out: language, main part, names of controls, what a column means on hover."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from rackfit.publish.metadata import column_text
from rackfit.publish.security import App

NAMED = (
    ("<html>", '<html lang="en">'),
    ('<section class="content">', '<section class="content" role="main">'),
    ('<dl class="column-descriptions">', '<dl class="column-descriptions" tabindex="0">'),
    ('<div class="table-wrapper">', '<div class="table-wrapper" tabindex="0" role="region" aria-label="Rows">'),
    ('<select name="_sort"', '<select aria-label="Sort by" name="_sort"'),
)
"""Parts of a page as Datasette writes them, and with what a screen reader or a keyboard needs. Once to a page."""

REPEATED = (
    ('<select name="_filter_column', '<select aria-label="Column to filter by" name="_filter_column'),
    ('<select name="_filter_op', '<select aria-label="How to compare" name="_filter_op'),
    ('<input type="text" name="_filter_value', '<input aria-label="Value" type="text" name="_filter_value'),
)  # fmt: skip
"""The same for controls that stand once to a filter."""

DESCRIBED = re.compile(r'<th data-column-description="([^"]*)"')
PLAIN = re.compile(r'<th class="([^"]*)" scope="col">(\w+)</th>')
"""Heads of columns: of a table, which carry their description as data, and of a query, which have none."""


@cache
def _title(column: str) -> str:
    """Return the title attribute of a column that the field guide knows, else nothing."""
    try:
        return f' title="{escape(column_text("", column))}"'
    except KeyError:
        return ""


def complete(page: str) -> str:
    """Return a page of HTML with what is missing put in; what is there already stays.

    >>> complete('<html><th class="col-tdp_w" scope="col">tdp_w</th>')[:16]
    '<html lang="en">'
    """
    for plain, named in NAMED:
        page = page.replace(plain, named, 1)
    for plain, named in REPEATED:
        page = page.replace(plain, named)
    page = DESCRIBED.sub(r'<th title="\1" data-column-description="\1"', page)
    return PLAIN.sub(lambda found: f'<th class="{found[1]}" scope="col"{_title(found[2])}>{found[2]}</th>', page)


def with_names(app: App) -> App:
    """Return an ASGI application whose pages are complete. Datasette sends a page whole and without its length."""

    async def wrapped(scope: dict[str, Any], receive: Any, send: Any) -> None:
        html = False

        async def send_completed(message: dict[str, Any]) -> None:
            nonlocal html
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message.get("headers", []) if name.lower() == b"content-type"]
                html = any(kind.startswith(b"text/html") for kind in kinds)
            elif html and message.get("body"):
                message = {**message, "body": complete(message["body"].decode("utf-8")).encode("utf-8")}
            await send(message)

        await app(scope, receive, send_completed)

    return wrapped
