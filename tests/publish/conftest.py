"""One Datasette over the built catalog, asked through its own client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rackfit.publish.serve import make_datasette


@pytest.fixture(scope="session")
def served(catalog: Path) -> Any:
    """The catalog as `rackfit serve` shows it."""
    datasette = make_datasette(Path(catalog))
    asyncio.run(datasette.invoke_startup())
    return datasette


@pytest.fixture(scope="session")
def get(served: Any) -> Callable[[str], Any]:
    """Ask for a page."""

    def ask(path: str) -> Any:
        return asyncio.run(served.client.get(path))

    return ask
