"""Page parameters that Datasette takes for failures of the server: they are the request's, and answer 400."""

from __future__ import annotations

import sqlite3
from typing import Any

from datasette.handle_exception import handle_exception as usual
from datasette.views.base import DatasetteError

UNCHECKED = ("_next", "_through")
"""Parameters that Datasette takes apart, as a number, a key or JSON, without a check of its own."""
FACETS = ("_facet", "_facet_array", "_facet_date")
"""Parameters whose column Datasette 1.0 puts in its SQL unchecked (0.65 leaves the facet out)."""


def answer(datasette: Any, request: Any, exception: Exception) -> Any:
    """Return the usual page of an error with status 400, or None where the failure is not the request's.

    A column that cannot be sorted by is raised with status 500; what cannot be taken apart is a bare ValueError.
    """
    if isinstance(exception, DatasetteError) and exception.status == 500:
        exception.status = 400
        return None
    given = [name for name in UNCHECKED if request.args.get(name)]
    if given and isinstance(exception, (ValueError, LookupError, TypeError)):
        wrong = DatasetteError(f"{' or '.join(given)} is nothing that this table has", status=400)
        return usual(datasette, request, wrong)
    facets = [name for name in FACETS if request.args.get(name)]
    if facets and isinstance(exception, sqlite3.OperationalError) and "no such column" in str(exception):
        wrong = DatasetteError(f"{' or '.join(facets)}: {exception}", status=400)
        return usual(datasette, request, wrong)
    return None
