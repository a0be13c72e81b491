"""Published versions of the data."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from rackfit.records.base import Part, Text

Day = Annotated[str, StringConstraints(pattern=r"^(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")]


class Release(Part):
    """One calendar version; the file's name is the version."""

    slug: str
    date: Day
    notes: Text | None = None
