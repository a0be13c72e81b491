"""Where the data, the migrations and the catalog are, in a checkout and in a wheel."""

from __future__ import annotations

import os
from pathlib import Path


def packaged(kind: str) -> Path:
    """Return the folder `data` or `migrations`, from the wheel or from the checkout."""
    package = Path(__file__).resolve().parent
    in_wheel = package / f"_{kind}"
    return in_wheel if in_wheel.is_dir() else package.parents[1] / kind


def default_catalog() -> Path:
    """Return RACKFIT_CATALOG, else catalog.db in the user's data directory."""
    from_environment = os.environ.get("RACKFIT_CATALOG")
    if from_environment:
        return Path(from_environment)
    from platformdirs import user_data_path

    return user_data_path("rackfit") / "catalog.db"
