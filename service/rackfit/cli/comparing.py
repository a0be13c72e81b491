"""`rackfit compare`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import (
    ONE_OR_MORE,
    Models,
    Tokens,
    catalog_option,
    json_option,
    opened,
    price_options,
    split_prices,
)
from rackfit.cli.showing import cell, show_json
from rackfit.cli.taking import Wanted, output_option

_FACTS = {
    "name": "devices",
    "memory_bytes": "memory in all",
    "device_memory_bytes": "of one device",
    "memory_type": "type",
    "bandwidth_gb_s": "bandwidth of one, GB/s",
    "bf16_tflops": "bf16 dense of one, TFLOPS",
    "fp8_tflops": "fp8 dense of one, TFLOPS",
    "fp4_tflops": "fp4 dense of one, TFLOPS",
    "link": "link",
    "link_gb_s": "link, GB/s one way",
    "accelerator_w": "accelerators, W",
    "system_w": "system at most, W",
    "price_per_hour": "lowest price per hour",
    "currency": "currency",
    "price_provider": "provider",
    "price_term": "term",
    "price_date": "price of",
    "purchase_price": "lowest price to buy",
    "purchase_basis": "which covers",
    "purchase_date": "price of ",
}
_CELL = {
    "verdict": "verdict",
    "precision": "format",
    "margin_bytes": "left on a device",
    "max_context": "longest context",
    "sequences_likely": "most sequences",
    "tokens_per_s": "tokens/s (range)",
    "bound": "bound",
    "full": "full batch, tokens/s",
    "prompt": "prompt, tokens/s",
    "ttft": "first token, s",
    "price_per_million_tokens": "per million tokens",
}


@click.command(short_help="Machines side by side: facts, price, and what each makes of the same models")
@click.argument("hardware", nargs=-1, metavar="HARDWARE...")
@click.option("--models", type=Models(), help="Models, with commas between  [default: five that many people ask for]")
@click.option("--context", type=Tokens(), help="Tokens per sequence, 32k = 32768  [default: 8192 or the model's]")
@click.option("--sequences", type=ONE_OR_MORE, help="Sequences at a time  [default: 1]")
@click.option("--prompt", type=Tokens(), help="Tokens of the prompt that is waited for  [default: the context]")
@click.option("--precision", help="Weight format  [default: the widest that fits]")
@click.option("--kv-precision", help="Format of the cache  [default: 16 bits]")
@click.option("--runtime", help="Engine, such as vllm, sglang, llama.cpp")
@price_options
@output_option
@json_option
@catalog_option
def compare(
    hardware: tuple[str, ...],
    models: tuple[Any, ...] | None,
    prompt: int | None,
    output: Wanted | None,
    as_json: bool,
    catalog: Path | None,
    **asked: Any,
) -> None:
    """Set two to five machines side by side: memory, bandwidth, link, watts, price, and the same models on each.

    \b
    rackfit compare "2x rtx-3090" rtx-6000-ada --models llama-3.1-70b --context 8k
    rackfit compare "8x h100-sxm5-80gb" "8x h200-sxm-141gb" "8x b200-sxm-180gb" --models deepseek-v3 --json
    rackfit compare m3-ultra-512gb "2x gb10" --models deepseek-v3,gpt-oss-120b --prompt 8k
    rackfit compare l40s rtx-6000-ada -o compare.xlsx
    """
    from rackfit.ask.compare import compare_machines
    from rackfit.ask.prices import read_choice
    from rackfit.ask.question import FitQuestion

    about, words = split_prices(asked)
    listed = models or ()
    with opened(catalog) as connection:
        choice = read_choice(connection, **words)
        answer = compare_machines(connection, hardware, listed, FitQuestion(**about), choice, prompt)
        said = {"hardware": hardware, "models": [str(one) for one in listed], **asked, "prompt": prompt}
        query = {name: value for name, value in said.items() if value not in (None, [])}
        if output is not None:
            from rackfit.export.side_by_side import machines_table

            output.write(connection, machines_table(connection, answer, query), {"asked": query})
            return
    show_json({"query": query, **answer}) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    machines = answer["machines"]
    heads = [fact["hardware"] for fact in machines]
    click.echo(_side_by_side("", heads, _FACTS, machines), color=False)
    for row in answer["models"]:
        click.echo("", color=False)
        click.echo(_side_by_side(row["model"], heads, _CELL, [_shown(one) for one in row["cells"]]), color=False)
        said = dict.fromkeys(f"{head}: {note}" for head, one in zip(heads, row["cells"], strict=True)
                             for note in one["notes"])  # fmt: skip
        for note in said:
            click.echo(f"- {note}", color=False)
    click.echo("", color=False)
    for note in answer["assumptions"]:
        click.echo(f"note: {note}", color=False)


def _side_by_side(title: str, heads: list[str], names: Mapping[str, str], columns: list[Mapping[str, Any]]) -> str:
    """Return a table with a line per name and a column per machine; lines without any value are left out."""
    from tabulate import tabulate

    rows = [[words, *(cell(name, column.get(name)) for column in columns)] for name, words in names.items()]
    kept = [row for row in rows if any(row[1:])]
    return tabulate(kept, headers=[title, *heads], tablefmt="simple", disable_numparse=True)


def _shown(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell as people read it: figures with their range."""

    def ranged(name: str, low: str, high: str | None = None) -> str:
        if one[name] is None:
            return ""
        end = f" to {cell(high, one[high])}" if high else " at least"
        return f"{cell(name, one[name])} ({cell(low, one[low])}{end})"

    full = ranged("full_batch_tokens_per_s", "full_batch_tokens_per_s_low")
    ttft = "" if one["ttft_s"] is None else f"{one['ttft_s']:.3g} ({one['ttft_s_high']:.3g} at most)"
    return {
        **one,
        "tokens_per_s": ranged("tokens_per_s", "tokens_per_s_low", "tokens_per_s_high"),
        "bound": one["tokens_per_s_bound"],
        "full": full and f"{full}, {one['full_batch']:,} sequences",
        "prompt": ranged("prompt_tokens_per_s", "prompt_tokens_per_s_low"),
        "ttft": ttft,
    }
