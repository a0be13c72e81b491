"""The catalog's tables as SQLModel classes, for typed reading and writing: one module per subject.

The schema itself is written by hand in `migrations/`; a test keeps the two equal. Importing this package imports
nothing heavy; `table_models` does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SUBJECTS = ("sources", "precisions", "hardware", "offers", "models", "measurements", "fits", "speed", "training")


def table_models() -> dict[str, type[Any]]:
    """Return the SQLModel class of each table by table name."""
    from sqlmodel import SQLModel

    models: dict[str, type[Any]] = {}
    for name in SUBJECTS:
        for value in vars(import_module(f"{__name__}.{name}")).values():
            if isinstance(value, type) and issubclass(value, SQLModel) and hasattr(value, "__table__"):
                models[value.__table__.name] = value
    return models
