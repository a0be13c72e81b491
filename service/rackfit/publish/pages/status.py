"""What is being served: version of the code, release and hash of the catalog, rows of each table."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from datasette.utils.asgi import Response

from rackfit.catalog.release import NEWEST, Release
from rackfit.errors import CatalogError
from rackfit.publish.pages.common import error_body, json_response, open_database
from rackfit.publish.settings import is_catalog


async def summary(database: Any) -> dict[str, Any]:
    """Return the release of a catalog and its row counts."""
    found = await database.execute(NEWEST)
    release = Release(*found.rows[0]) if found.rows else Release()
    counts = await database.table_counts(1000)
    shown = {name: count for name, count in sorted(counts.items()) if not name.startswith(("sqlite_", "_"))}
    return {"release": release._asdict(), "counts": shown}


async def databases(datasette: Any) -> Any:
    """Answer /-/databases in place of Datasette's own page, which names the folder on the server."""
    listed = [
        {
            "name": database.name, "route": database.route, "path": None, "size": database.size,
            "is_mutable": database.is_mutable, "is_memory": database.is_memory, "hash": database.hash,
        }
        for database in datasette.databases.values()
        if is_catalog(database.path)
    ]  # fmt: skip
    return Response.json({"ok": True, "databases": listed} if hasattr(datasette, "add_query") else listed)


async def page(datasette: Any) -> Any:
    """Answer /-/rackfit."""
    try:
        database = open_database(datasette)
    except CatalogError as error:
        return json_response({}, error_body(error))
    return json_response(
        {"ok": True, "version": version("rackfit"), "database": database.name, **await summary(database)}
    )
