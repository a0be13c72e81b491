"""Options and parameter types that several commands share."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from rackfit.ask import figures

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
ONE_OR_MORE = click.IntRange(min=1)

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


class Written(click.ParamType):
    """A figure as `rackfit.ask.figures` reads it."""

    def __init__(self, name: str, figure: figures.Figure) -> None:
        self.name, self.figure = name, figure

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the figure, or say what is expected."""
        if not isinstance(value, str):
            return value
        found = self.figure.read(value)
        if found is None:
            self.fail(f"{value!r} is not {self.figure.expected}", param, ctx)
        return found


class Tokens(Written):
    """A number of tokens: 8192, or 32k for 32 * 1024, or 1M for 1024 * 1024."""

    def __init__(self) -> None:
        super().__init__("tokens", figures.TOKENS)


class Figure(click.FloatRange):
    """A number in a range; infinity and what is no number are refused, which no comparison would."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, or say what is expected."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class Amount(Written):
    """A whole number from 0, or one of a few words."""

    def __init__(self, *words: str) -> None:
        super().__init__("n", figures.amount(*words))


class Split(Written):
    """Whole numbers from 1, separated by commas."""

    def __init__(self) -> None:
        super().__init__("n,n", figures.LAYERS)


class Model(click.ParamType):
    """A model: a name as it is, or the model in the file or folder that a path leads to."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the file where the text is a path."""
        from rackfit.modelfiles.paths import is_own_file

        if not isinstance(value, str) or not is_own_file(value):
            return value
        from rackfit.ask.model_files import model_argument

        return model_argument(value)


class Models(click.ParamType):
    """Several models with commas between, each a name or a file; each counts once."""

    name = "A,B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Return the models; those in files are read."""
        if not isinstance(value, str):
            return tuple(value)
        names = dict.fromkeys(name.strip() for name in value.split(",") if name.strip())
        return tuple(Model().convert(name, param, ctx) for name in names)


def catalog_path(path: Path | None) -> Path:
    """Return the catalog that was asked for, else the usual one."""
    from rackfit.paths import default_catalog

    return path or default_catalog()


_PRICES = (
    click.option("--currency", help="Three letters; currencies are never mixed  [default: USD]"),
    click.option("--term", help="on-demand, spot, reserved, other, a term such as reserved 1y, or any  [on-demand]"),
    click.option("--tier", help="Tier of service, such as secure  [default: any open to everybody]"),
    click.option("--provider", help="Provider of the offer  [default: any]"),
    click.option("--region", help="Region as the provider writes it, in any case  [default: any]"),
    click.option("--price-date", "date", metavar="DATE", help="Offers that hold on that day  [default: today]"),
    click.option("--priced-since", "since", metavar="DATE", help="Only prices dated from that day on"),
)


def with_options(*groups: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """Return a decorator that gives a command the options of some groups, in their order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([one for group in groups for one in group]):
            function = option(function)
        return function

    return add


price_options = with_options(_PRICES)
"""Gives a command the options that say which offers count."""


def split_prices(asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a command without those of prices, and those of prices."""
    from rackfit.money.offers import OFFER_WORDS

    return (
        {name: value for name, value in asked.items() if name not in OFFER_WORDS},
        {name: asked[name] for name in OFFER_WORDS},
    )


@contextmanager
def opened(path: Path | None) -> Iterator[sqlite3.Connection]:
    """Open the catalog for reading and close it afterwards."""
    from rackfit.catalog.connect import open_catalog

    with closing(open_catalog(catalog_path(path))) as connection:
        yield connection
