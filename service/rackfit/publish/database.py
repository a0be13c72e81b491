"""A Datasette database whose large views have their counts from the start."""

from __future__ import annotations

from datasette.database import Database

from rackfit.publish.counts import VIEW_COUNTS


class CatalogDatabase(Database):  # type: ignore[misc, unused-ignore]
    """A catalog. Pages of views take their counts from the inspected data, lists of tables only those of tables."""

    views: frozenset[str] = frozenset(VIEW_COUNTS)

    @property
    def cached_table_counts(self) -> dict[str, int] | None:
        """Rows by table, None where nothing was inspected."""
        counts: dict[str, int] | None = super().cached_table_counts
        return None if counts is None else {name: count for name, count in counts.items() if name not in self.views}
