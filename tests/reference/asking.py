"""Questions to the catalog in the words of tests."""

from __future__ import annotations

import sqlite3
from typing import Any

from rackfit.ask.fit import fit_one
from rackfit.ask.question import FitQuestion
from rackfit.catalog.read import read_model
from rackfit.catalog.resolve import resolve
from rackfit.memory.anatomy import Anatomy


def anatomy_of(connection: sqlite3.Connection, name: str) -> Anatomy:
    """Return the catalog's architecture for a name."""
    return Anatomy(read_model(connection, resolve(connection, "model", name).id))


def ask(connection: sqlite3.Connection, name: str, on: str, **said: Any) -> dict[str, Any]:
    """Return the answer for a model on hardware."""
    return fit_one(connection, FitQuestion(model=name, on=on, **said), suggest=False)
