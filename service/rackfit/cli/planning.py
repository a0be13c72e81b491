"""`rackfit plan`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import (
    ONE_OR_MORE,
    Figure,
    Model,
    Tokens,
    catalog_option,
    json_option,
    limit_option,
    opened,
    price_options,
)
from rackfit.cli.showing import cell, show_json, show_pairs, show_table
from rackfit.cli.taking import Target, Wanted

ABOVE_ZERO = Figure(0, min_open=True)
ORDERS = ("smallest", "cheapest", "per-watt", "per-money")

MOST_REASONS = 6
"""Reasons of wide ranges that are shown; --json has all."""

_COLUMNS = {
    "label": "configuration",
    "precision": "precision",
    "layout": "layout",
    "memory": "by memory",
    "latency": "by latency",
    "limit": "limit",
    "each": "tokens/s each",
    "first": "first token, s",
    "accelerator_w": "W",
    "priced": "price",
    "price_provider": "provider",
}
_BEST = {
    "smallest": "smallest",
    "cheapest": "cheapest",
    "per-watt": "most tokens/s per watt",
    "per-money": "most tokens/s per money",
}


@click.command(short_help="Users, context and speed to configurations: smallest, cheapest, most efficient")
@click.argument("model", type=Model())
@click.option("--context", type=Tokens(), help="Tokens in each sequence's cache, prompt and answer  [default: 8192]")
@click.option("--users", type=ONE_OR_MORE, help="People, or clients  [default: 1]")
@click.option(
    "--concurrency", type=Figure(0, 1, min_open=True), help="Share of them whose request runs at once  [default: 1]"
)
@click.option("--headroom", type=Figure(0, 10), help="Spare sequences on top, 0.2 for a fifth  [default: 0]")
@click.option("--tokens-per-second", type=ABOVE_ZERO, help="What each of them is promised while answers are written")
@click.option("--ttft", type=ABOVE_ZERO, metavar="SECONDS", help="Latest first token of a prompt")
@click.option("--prompt", type=Tokens(), help="Tokens of a prompt  [default: the context]")
@click.option("--output", type=Tokens(), help="Tokens of an answer: charges the prompts of all users too")
@click.option("--workload", help="Context and users of a standard workload, such as serve-8k-16")
@click.option(
    "--precision", help="Weight format; any: 16, 8 and 4 bits and Q4_K_M too  [default: the checkpoint's own]"
)
@click.option("--kv-precision", help="Format of the cache  [default: 16 bits]")
@click.option("--runtime", help="Engine, such as vllm, sglang, llama.cpp")
@click.option("--budget", type=ABOVE_ZERO, help="Most per hour, or to buy with --pay purchase")
@click.option("--pay", type=click.Choice(["hour", "purchase"]), default="hour", show_default=True, help="Kind of price")
@click.option("--power-limit", type=ABOVE_ZERO, metavar="WATTS", help="Most that everything together may draw")
@click.option("--accelerator", "accelerators", multiple=True, help="Only this device, or class of devices; repeatable")
@click.option("--vendor", "vendors", multiple=True, help="Only devices of this maker; repeatable")
@click.option("--max-devices", type=ONE_OR_MORE, help="Most accelerators, all copies together")
@click.option("--replicas", type=ONE_OR_MORE, help="Most copies of one configuration side by side  [default: 8]")
@click.option("--likely", is_flag=True, help="Plan by likely figures instead of their low ends")
@click.option("--by", type=click.Choice(ORDERS), default="smallest", show_default=True, help="Order of the list")
@price_options
@limit_option(10)
@click.option(
    "-o", "--csv", "file", type=Target(), help="Write the rows to this file too: .csv .xlsx .parquet .json .jsonl"
)
@json_option
@catalog_option
def plan(
    accelerators: tuple[str, ...],
    vendors: tuple[str, ...],
    file: Wanted | None,
    as_json: bool,
    catalog: Path | None,
    **asked: Any,
) -> None:
    """Say which configurations serve MODEL to so many users, at the context and speed that are asked.

    Every configuration of the catalog is computed, in every layout that can run; announced parts are not counted. Both
    limits are shown: the sequences that memory allows, and those that keep the speed.

    \b
    rackfit plan Llama-3.1-70B --users 50 --context 8k --tokens-per-second 15
    rackfit plan Qwen3-32B --users 400 --concurrency 0.1 --tokens-per-second 20 --ttft 2 --prompt 4k --budget 20
    rackfit plan gpt-oss-120b --workload serve-8k-16 --vendor NVIDIA --by per-watt -o plan.xlsx
    rackfit plan Llama-3.1-8B --users 30 --precision any --pay purchase --power-limit 2000 --json
    """
    from rackfit.ask.plan.answer import plan as find
    from rackfit.ask.plan.question import PlanQuestion

    with opened(catalog) as connection:
        answer = find(connection, PlanQuestion(accelerators=accelerators, vendors=vendors, **asked))
        if file is not None:
            from rackfit.export.plan_table import plan_table

            file.write(connection, plan_table(connection, answer), {"asked": answer["query"]})
    show_json(answer) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    query, counts = answer["query"], answer["counts"]
    share = f"{query['users']:,} users x {query['concurrency']:g} at the same time"
    share += f", {query['headroom']:.0%} spare" if query["headroom"] else ""
    show_pairs(
        [
            ("model", query["model"]),
            ("load", f"{query['sequences']:,} sequences of {query['context']:,} tokens ({share})"),
            ("looked at", f"{counts['configurations']:,} configurations, {counts['layouts']:,} layouts and formats"),
            ("found", f"{counts['met']:,}, of which {counts['met_without_price']:,} have no price on record"),
        ]
    )
    if counts["met"]:
        _show_best(answer)
        click.echo("", color=False)
        show_table([_shown(row) for row in answer["results"]], _COLUMNS)
        click.echo(
            "\nby memory, by latency: sequences of one copy, as promised (likely); each: low end (likely)", color=False
        )
        reasons = dict.fromkeys(one for row in answer["results"] if row["wide"] for one in row["range_reasons"])
        for reason in list(reasons)[:MOST_REASONS]:
            click.echo(f"* wide range: {reason}", color=False)
        if len(reasons) > MOST_REASONS:
            click.echo(f"* and {len(reasons) - MOST_REASONS} more such reasons, see --json", color=False)
    _show_ruled_out(answer)
    for note in answer["assumptions"]:
        click.echo(f"note: {note}", color=False)


def _show_best(answer: Mapping[str, Any]) -> None:
    click.echo("", color=False)
    for name, words in _BEST.items():
        row = answer["best"][name]
        said = (
            "none with a figure for it" if row is None else f"{row['label']}, {row['precision']}{_measure(name, row)}"
        )
        click.echo(f"{words:<24} {said}", color=False)


def _measure(name: str, row: Mapping[str, Any]) -> str:
    """Return the figure by which a configuration is the best."""
    if name == "cheapest":
        return f": {_price(row)}"
    if name == "per-watt":
        return f": {row['tokens_per_s_per_w_low']:.3g} ({row['tokens_per_s_per_w']:.3g} likely)"
    if name == "per-money":
        return f": {row['tokens_per_s_per_price_low']:.3g} per {row['currency']} ({row['tokens_per_s_per_price']:.3g})"
    return ""


def _price(row: Mapping[str, Any]) -> str:
    return "" if row["price"] is None else f"{row['price']:,.4g} {row['currency']}"


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as people read it: each promise with what is likely behind it."""

    def pair(low: str, likely: str) -> str:
        promised, expected = cell(low, row[low]), cell(likely, row[likely])
        return f"{promised} ({expected})" if promised or expected else ""

    degrees = " ".join(f"{name}={row[name]}" for name in ("tp", "pp", "ep", "dp") if row[name] > 1) or "one device"
    each = "tokens_per_s_served" if row["tokens_per_s_served"] else "tokens_per_s_each"
    return {
        **row,
        "layout": degrees,
        "memory": pair("memory_sequences", "memory_sequences_likely"),
        "latency": pair("latency_sequences", "latency_sequences_likely"),
        "each": pair(f"{each}_low", each) + (" *" if row["wide"] else ""),
        "first": pair("ttft_s_high", "ttft_s"),
        "priced": _price(row),
    }


def _show_ruled_out(answer: Mapping[str, Any]) -> None:
    out = [row for row in answer["ruled_out"] if row["configurations"]]
    if out:
        click.echo("\nruled out, each counted at the first that it fails", color=False)
        show_table(out, {"requirement": "requirement", "configurations": "configurations", "why": "why"})
    if answer["relaxations"]:
        click.echo("\nwhat would admit one, all else as asked", color=False)
        show_table(answer["relaxations"], {"requirement": "requirement", "value": "value", "configuration": "such as"})
    elif not answer["counts"]["met"]:
        click.echo("\nno single requirement, given up alone, would admit one", color=False)
