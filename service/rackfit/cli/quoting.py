"""`rackfit export quote`: a purchase list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Figure, Models, Tokens, catalog_option, opened, price_options, with_options
from rackfit.cli.showing import show_json, show_table
from rackfit.cli.taking import Wanted, file_options

AMOUNT = Figure(min=0, min_open=True)

_NEED = (
    click.option("--models", type=Models(), metavar="A,B", required=True, help="Models that each item is judged for"),
    click.option(
        "--on", multiple=True, metavar="HARDWARE", help="A machine of the list, as for `rackfit fit`; repeat it"
    ),
    click.option("--quantity", type=ONE_OR_MORE, default=1, show_default=True, help="Machines of each kind"),
    click.option("--context", type=Tokens(), help="Tokens per sequence  [default: 8192 or the model's]"),
    click.option("--sequences", type=ONE_OR_MORE, help="Sequences at a time  [default: 1]"),
    click.option("--precision", help="Weight format  [default: the checkpoint's own]"),
    click.option("--kv-precision", help="Format of the cache  [default: 16 bits]"),
    click.option("--runtime", help="Engine  [default: by format]"),
)
_WISHES = (
    click.option("--vendor", help="Maker of the devices"),
    click.option("--segment", help="datacenter, workstation, consumer, laptop, unified, edge or tpu_asic"),
    click.option("--min-memory", type=AMOUNT, metavar="GB", help="Least memory of one device, GB of its label"),
    click.option("--min-bandwidth", type=AMOUNT, metavar="GB/S", help="Least memory bandwidth of one device"),
    click.option("--max-power", type=AMOUNT, metavar="W", help="Most design power of all devices together"),
    click.option("--max-devices", type=ONE_OR_MORE, help="Most devices"),
    click.option(
        "--max-price", type=AMOUNT, help="Most that all machines of a kind may cost; without a price no answer"
    ),
    click.option("--limit", type=click.IntRange(1, 40), default=10, show_default=True, help="Most machines"),
)
_PRICE_KIND = (
    click.option(
        "--price-kind", type=click.Choice(["hourly", "purchase"]), default="hourly", show_default=True,
        help="What --max-price is about",
    ),
)  # fmt: skip

_SHOWN = {
    "item": "item", "part_name": "part", "vendor": "vendor", "quantity": "quantity", "memory_gib_total": "GiB in all",
    "tdp_w_total": "W", "rack_units_total": "U", "hourly_price_total": "per hour", "purchase_price_total": "once",
    "currency": "currency", "verdict": "verdict", "margins": "GiB left per model",
}  # fmt: skip
"""Columns that people are shown without a file."""


@click.command(short_help="A purchase list: items, prices with date and source, verdict for each model")
@with_options(_NEED, _WISHES, _PRICE_KIND)
@price_options
@file_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document with the answers nested")
@catalog_option
def quote(models: tuple[Any, ...], as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Write a purchase list: one line per device or system to order, with room for the vendor's answers.

    Machines are named with --on; without it the wishes choose, smallest first, among the configurations on which every
    model fits. Prices are what offers on record say, with kind, date and source; else the cell is blank.
    Without --output and --format a table of the main columns is shown.

    \\b
    rackfit export quote --models Qwen3-32B,gpt-oss-120b --context 32k --sequences 8 \\
        --on nvidia-dgx-h100 --on "8x mi300x" -o quote.xlsx
    rackfit export quote --models Llama-3.1-70B --min-memory 80 --max-price 10 -o quote.csv
    rackfit export quote --models Qwen3-8B --on rtx-4090 --on rtx-5090 --json
    """
    from rackfit.ask.quote import QuoteQuestion
    from rackfit.ask.quote import quote as answer

    fields = {name: asked[name] for name in QuoteQuestion.__dataclass_fields__ if name in asked}
    question = QuoteQuestion(models=models, **{**fields, "on": tuple(asked["on"])})
    to_file = asked["output"] is not None or asked["named_format"] is not None
    wanted = Wanted.read(asked) if to_file else None
    with opened(catalog) as connection:
        found = answer(connection, question)
        if wanted is not None:
            from rackfit.export.quote_table import quote_table

            wanted.write(connection, quote_table(connection, found), {"asked": found["query"]})
            return
    if as_json:
        show_json(found)
        return
    show_table([_line(item) for item in found["results"]], _SHOWN, "no configuration on record meets all of it")


def _line(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as people are shown it."""
    margins = ", ".join("-" if fit["margin_gib"] is None else f"{fit['margin_gib']:+.1f}" for fit in item["fits"])
    return {**item, "margins": margins, "currency": item["hourly_currency"] or item["purchase_currency"]}
