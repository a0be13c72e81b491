"""One Datasette over the built catalog, asked through its own client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from rackfit.publish.serve import make_datasette


@pytest.fixture(scope="session")
def served(catalog: Path) -> Any:
    """The catalog as `rackfit serve` shows it, with time enough on a busy machine: benchmarks measure the rest."""
    datasette = make_datasette(Path(catalog), {"sql_time_limit_ms": 20_000, "facet_time_limit_ms": 10_000})
    asyncio.run(datasette.invoke_startup())
    return datasette


@pytest.fixture(scope="session")
def get(served: Any) -> Callable[..., Any]:
    """Ask for a page, over the redirects by which Datasette 1.0 keeps the addresses of 0.65."""

    def ask(path: str, follow: bool = True) -> Any:
        return asyncio.run(served.client.get(path, follow_redirects=follow))

    return ask


@pytest.fixture
def sql(get: Callable[[str], Any]) -> Callable[[str], Any]:
    """Ask for the only value of a query."""

    def ask(text: str) -> Any:
        (row,) = get("/catalog.json?" + urlencode({"_shape": "arrays", "sql": text})).json()["rows"]
        return row[0]

    return ask
