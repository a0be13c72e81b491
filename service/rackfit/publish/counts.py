"""Row counts of a catalog, known before the first page asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rackfit.catalog.connect import open_catalog
from rackfit.catalog.release import newest_release
from rackfit.publish.settings import DATABASE

VIEW_COUNTS = {
    "inference_fits": "select count(*) from inference_cells",
    "fits_with_cost": "select count(*) from inference_cells",
    "training_fits": "select count(*) from training_cells",
    "system_fits": """
        select coalesce(sum(cells.count), 0) from configuration_systems join configurations using (configuration_id)
        join (select configuration_key, count(*) as count from inference_cells group by configuration_key) as cells
        using (configuration_key)
    """,
}
"""Rows of the large views, counted over the table behind them: through the view it takes seconds."""


def inspect(path: Path) -> dict[str, Any]:
    """Return the row counts, size and logical hash of a catalog, so that no page has to count or hash."""
    connection = open_catalog(path)
    try:
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        counts = {
            name: {"count": connection.execute(f'select count(*) from "{name}"').fetchone()[0]} for name in tables
        }
        counts |= {name: {"count": connection.execute(sql).fetchone()[0]} for name, sql in VIEW_COUNTS.items()}
        digest = newest_release(connection).logical_hash or "0" * 64
    finally:
        connection.close()
    return {DATABASE: {"hash": digest, "size": path.stat().st_size, "file": path.name, "tables": counts}}
