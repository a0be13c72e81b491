"""Options and parameter types that several commands share."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

catalog_option: Decorator = click.option(
    "--catalog",
    metavar="PATH",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Catalog file  [default: $RACKFIT_CATALOG, else catalog.db in the user's data folder]",
)
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a table")


def limit_option(default: int) -> Decorator:
    """Return the option that says how many rows are shown."""
    return click.option("--limit", type=click.IntRange(min=1), default=default, show_default=True, help="Most rows")


class Tokens(click.ParamType):
    """A number of tokens: 8192, or 32k for 32 * 1024, or 1M for 1024 * 1024."""

    name = "tokens"
    _form = re.compile(r"^(\d[\d_]{0,12})\s*([km]?)$", re.IGNORECASE)
    _factor = {"": 1, "k": 1024, "m": 1024 * 1024}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number, or say what is expected."""
        if isinstance(value, int):
            return value
        matched = self._form.match(value.strip())
        tokens = int(matched[1].replace("_", "")) * self._factor[matched[2].lower()] if matched else 0
        if tokens < 1:
            self.fail(f"{value!r} is no number of tokens such as 8192 or 32k", param, ctx)
        return tokens


class Figure(click.FloatRange):
    """A number in a range; infinity and what is no number are refused, which no comparison would."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, or say what is expected."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class Amount(click.ParamType):
    """A whole number from 0, or one of a few words."""

    name = "n"

    def __init__(self, *words: str) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read the number or word, or say what is expected."""
        if value in self.words or isinstance(value, int):
            return value
        if not re.fullmatch(r"\d{1,6}", value):
            self.fail(f"{value!r} is neither a number from 0 nor {' nor '.join(self.words)}", param, ctx)
        return int(value)


class Split(click.ParamType):
    """Whole numbers from 1, separated by commas."""

    name = "n,n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read the numbers, or say what is expected."""
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", value):
            self.fail(f"{value!r} is no list of layers such as 24,12", param, ctx)
        return tuple(int(part) for part in value.split(","))


def catalog_path(path: Path | None) -> Path:
    """Return the catalog that was asked for, else the usual one."""
    from rackfit.paths import default_catalog

    return path or default_catalog()


@contextmanager
def opened(path: Path | None) -> Iterator[sqlite3.Connection]:
    """Open the catalog for reading and close it afterwards."""
    from rackfit.catalog.connect import open_catalog

    with closing(open_catalog(catalog_path(path))) as connection:
        yield connection
