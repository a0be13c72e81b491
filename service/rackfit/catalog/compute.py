"""What is computed from the facts after they are loaded, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) as work goes on."""

Step = Callable[[sqlite3.Connection, Progress], None]


def _configurations(connection: sqlite3.Connection, progress: Progress) -> None:
    from rackfit.catalog.steps import configurations

    configurations.compute(connection, progress)


def _inference(connection: sqlite3.Connection, progress: Progress) -> None:
    from rackfit.catalog.steps import inference

    inference.compute(connection, progress)


def _best(connection: sqlite3.Connection, progress: Progress) -> None:
    from rackfit.catalog.steps import best

    best.compute(connection, progress)


def _prices(connection: sqlite3.Connection, progress: Progress) -> None:
    from rackfit.catalog.steps import prices

    prices.compute(connection, progress)


def _training(connection: sqlite3.Connection, progress: Progress) -> None:
    from rackfit.catalog.steps import training

    training.compute(connection, progress)


COMPUTE: tuple[Step, ...] = (_configurations, _prices, _inference, _best, _training)
"""Each step reads fact tables, writes its computed tables, and reports its progress."""
