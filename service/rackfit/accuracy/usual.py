"""The model that a document means by a name of several: the usual one, and the estimate says so."""

from __future__ import annotations

import sqlite3

from rackfit.ask.question import Subject, find_model
from rackfit.errors import AmbiguousNameError


def find_usual(connection: sqlite3.Connection, name: str, assumed: list[str]) -> Subject:
    """Return the model of a name; of a class (`Mistral 7B`) the first candidate, with a line in `assumed`.

    Raises:
        UnknownNameError: no model and no class of that name.
    """
    try:
        return find_model(connection, name)
    except AmbiguousNameError as several:
        assumed.append(f"model: {several.candidates[0]} taken for the class {name!r}")
        return find_model(connection, several.candidates[0])
