"""Settings of a public, read-only host, and what identifies a catalog among the databases that are open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rackfit.catalog.connect import APPLICATION_ID

DATABASE = "catalog"
"""Name of the database in every address, whatever the file is called."""

SETTINGS: dict[str, Any] = {
    "default_page_size": 50,
    "max_returned_rows": 1000,
    "num_sql_threads": 3,
    "sql_time_limit_ms": 1000,
    "facet_time_limit_ms": 500,
    "suggest_facets": False,
    "allow_download": True,
    "allow_csv_stream": True,
    "max_csv_mb": 100,
    "default_cache_ttl": 3600,
    "truncate_cells_html": 300,
    "template_debug": False,
    "trace_debug": False,
}
"""Facet suggestion is the main cost of a page, hence off; a facet never gets more time than a query."""

LENGTH_LIMIT = 2_000_000
"""Longest text or blob that a query may make, bytes: `hex(randomblob(3e8))` would otherwise take 700 MB of memory."""

HEADER_BYTES = 100
APPLICATION_ID_AT = 68
"""Offset of the application id in an SQLite header, https://www.sqlite.org/fileformat.html section 1.3."""


def is_catalog(path: str | Path | None) -> bool:
    """Return whether a file is a Rackfit catalog, by its header alone."""
    if not path:
        return False
    try:
        with open(path, "rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return False
    return header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4] == APPLICATION_ID.to_bytes(4, "big")
