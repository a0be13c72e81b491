"""Why a function failed, said in words: SQLite itself only reports that a user-defined function raised something."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rackfit.errors import RackfitError

GENERIC = "user-defined function raised exception"
"""What Python's sqlite3 makes of any exception in a function."""

_last = threading.local()
Result = TypeVar("Result")


def remember(text: str) -> None:
    """Keep the reason of a failure for the thread that runs the query."""
    _last.text = text


def error_text(error: BaseException) -> str:
    """Return an SQL error in words, with the reason that a function of Rackfit gave."""
    text, _last.text = getattr(_last, "text", None), None
    return text if text and GENERIC in str(error) else str(error)


def explained(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that keeps its reason when it refuses its arguments."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except RackfitError as error:
            remember(f"{name}(): {error}")
            raise
        except (TypeError, ValueError, OverflowError) as error:
            remember(f"{name}(): {', '.join(repr(argument)[:40] for argument in arguments)} cannot be read ({error})")
            raise ValueError(str(error)) from error

    return call


def run_explained(work: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Return work on a connection whose SQL errors carry the reason of the function that failed."""

    def run(connection: Any) -> Result:
        remember("")
        try:
            return work(connection)
        except sqlite3.OperationalError as error:
            if GENERIC not in str(error):
                raise
            raise sqlite3.OperationalError(error_text(error)) from error

    return run


def explain_errors(database: Any) -> None:
    """Let a Datasette database explain the errors of functions, on both of Datasette's lines."""
    name = "_execute_fn" if hasattr(database, "_execute_fn") else "execute_fn"
    original = getattr(database, name)

    async def execute(function: Callable[[Any], Any], *arguments: Any, **options: Any) -> Any:
        return await original(run_explained(function), *arguments, **options)

    setattr(database, name, execute)
