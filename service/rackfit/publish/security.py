"""What a public host must not give away or allow: response headers, and SQL that reveals where the file lies."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from rackfit.publish.settings import LENGTH_LIMIT

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
"""Everything from this host; inline script and style because Datasette's own pages have them."""

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"content-security-policy": CONTENT_SECURITY_POLICY.encode(),
    b"referrer-policy": b"strict-origin-when-cross-origin",
}

SHOWS_PATH = ("pragma_database_list", "file")
"""Table-valued pragma and column that hold the path on the server: read as null."""

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


def with_headers(app: App) -> App:
    """Return an ASGI application whose responses carry the security headers."""

    async def wrapped(scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def send_with_headers(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message.get("headers", [])}
                added = [[name, value] for name, value in HEADERS.items() if name not in present]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped


def _authorize(action: int, first: str | None, second: str | None, database: str | None, inside: str | None) -> int:
    if action == sqlite3.SQLITE_READ and (first, second) == SHOWS_PATH:
        return sqlite3.SQLITE_IGNORE
    return sqlite3.SQLITE_OK


def protect(connection: sqlite3.Connection) -> None:
    """Cap the size of values, and hide the path of the file on the server."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH_LIMIT)
    connection.set_authorizer(_authorize)
