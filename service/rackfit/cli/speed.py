"""`rackfit speed`, `rackfit scaling` and `rackfit attention`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Model, Tokens, catalog_option, json_option, opened, with_options
from rackfit.cli.running import LAYOUT, SUBJECT, show_subject
from rackfit.cli.showing import show_json, show_list, show_pairs, show_table
from rackfit.cli.taking import Wanted, output_option

DECODE_COLUMNS = {
    "sequences": "sequences",
    "tokens_per_s": "tokens/s (estimate)",
    "low": "low",
    "high": "high",
    "bound": "bound",
    "per_sequence": "per sequence",
    "step_ms": "ms per step",
    "bound_by": "bound by",
}
SCALING_COLUMNS = {
    "strategy": "strategy",
    "degree": "degree",
    "compute_s": "compute s",
    "communication_s": "communication s",
    "efficiency": "efficiency",
    "link": "link",
    "link_gb_s": "GB/s",
    "bytes_per_token": "bytes/token",
    "bound_by": "bound by",
}
LEVEL_COLUMNS = {
    "level": "level",
    "capacity_bytes": "capacity",
    "scope": "of a",
    "total_bytes": "in all",
    "bandwidth_gb_s": "GB/s, all units",
    "basis": "basis",
}


class Degrees(click.ParamType):
    """Whole numbers from 1, separated by commas."""

    name = "n,n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read the numbers, or say what is expected."""
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"[1-9]\d{0,3}(,[1-9]\d{0,3})*", value):
            self.fail(f"{value!r} is no list of degrees such as 1,2,4,8", param, ctx)
        return tuple(int(part) for part in value.split(","))


@click.command(short_help="Tokens per second: bound, estimate, range")
@with_options(SUBJECT, LAYOUT)
@click.option("--prompt", type=Tokens(), help="Tokens of the prompt that is waited for  [default: the context]")
@output_option
@json_option
@catalog_option
def speed(prompt: int | None, output: Wanted | None, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Say how fast MODEL decodes and reads a prompt on HARDWARE, at one sequence and at a full batch.

    The bound follows from printed rates; the estimate from efficiencies fitted on measured runs, with their range.

    \b
    rackfit speed Llama-3.1-8B --on rtx-4090 --precision q4_k_m
    rackfit speed Llama-3.1-70B --on "8x h100-sxm5-80gb" --context 32k --sequences 16 --json
    """
    from rackfit.ask.question import FitQuestion
    from rackfit.ask.speed import speed_one

    with opened(catalog) as connection:
        answer = speed_one(connection, FitQuestion(**asked), prompt)
        if output is not None:
            from rackfit.export.answers import breakdown

            output.write(connection, breakdown(connection, answer, "speed"), {"asked": {**asked, "prompt": prompt}})
            return
    show_json(answer) if as_json else _show_speed(answer)


def _show_speed(answer: Mapping[str, Any]) -> None:
    show_subject(answer)
    click.echo("\ndecode", color=False)
    show_table(answer["decode"], DECODE_COLUMNS, "no figure: see the notes below")
    prefill = answer["prefill"]
    if prefill:
        click.echo(f"\nprompt of {prefill['prompt_tokens']:,} tokens", color=False)
        low, high = prefill["time_to_first_token_low_s"], prefill["time_to_first_token_high_s"]
        show_pairs(
            [
                ("tokens/s (estimate)", f"{prefill['tokens_per_s']:,.0f}"),
                ("range", f"{prefill['low']:,.0f} to {prefill['high']:,.0f}, bound {prefill['bound']:,.0f}"),
                ("first token after", f"{prefill['time_to_first_token_s']:.3g} s ({low:.3g} to {high:.3g})"),
                ("computes at", f"{prefill['computes_at']}, {prefill['dense_tflops']:g} TFLOPS dense"),
                ("share of peak", f"{prefill['share_of_peak']:.3g}, {prefill['share_basis']}"),
            ]
        )
    if answer["efficiency"]:
        found = answer["efficiency"]
        click.echo(f"\nefficiency {found['efficiency_id']}: {found['cases']} measured cases", color=False)
    for note in answer["assumptions"]:
        click.echo(f"note: {note}", color=False)


@click.command(short_help="Tensor, pipeline, expert and data parallel efficiency over a link")
@with_options(SUBJECT)
@click.option("--degrees", type=Degrees(), help="Devices to spread over  [default: 1,2,4,8]")
@click.option("--tokens", type=Tokens(), help="Tokens in flight  [default: 48, a decode step of so many sequences]")
@output_option
@json_option
@catalog_option
def scaling(
    degrees: tuple[int, ...] | None,
    tokens: int | None,
    output: Wanted | None,
    as_json: bool,
    catalog: Path | None,
    **asked: Any,
) -> None:
    """Say how much of the time devices compute, and how much they talk, when MODEL is spread over them.

    One row per strategy and degree; the inputs of each row are in its assumptions.

    \b
    rackfit scaling Llama-3.1-70B --on "8x a100-sxm4-80gb"
    rackfit scaling Llama-3.1-70B --on "8x a100-pcie-80gb" --degrees 2,8 --tokens 4k --json
    """
    from rackfit.ask.question import FitQuestion
    from rackfit.ask.scaling import DEFAULT_DEGREES, DEFAULT_TOKENS
    from rackfit.ask.scaling import scaling as scale

    over, flight = degrees or DEFAULT_DEGREES, tokens or DEFAULT_TOKENS
    query = {**asked, "degrees": over, "tokens": flight}
    with opened(catalog) as connection:
        rows = scale(connection, FitQuestion(**asked), over, flight)
        if output is not None:
            from rackfit.export.page_tables import SCALING, page_table

            output.write(connection, page_table(connection, SCALING, rows, query), {"asked": query})
            return
    if as_json:
        show_list(query, rows)
        return
    show_table(rows, SCALING_COLUMNS)
    click.echo("\nall figures are estimates; inputs by row:", color=False)
    for row in rows:
        click.echo(f"{row['strategy']} {row['degree']}: {row['assumptions']}", color=False)


@click.command(short_help="Attention and the memory hierarchy: scores written out, or tiled")
@click.argument("model", type=Model())
@click.option("--on", metavar="HARDWARE", required=True, help="Device, such as a100-sxm4-80gb")
@click.option("--context", type=Tokens(), help="Tokens of a sequence  [default: 128k]")
@click.option("--batch", type=ONE_OR_MORE, default=1, show_default=True, help="Sequences")
@output_option
@json_option
@catalog_option
def attention(
    model: str,
    on: str,
    context: int | None,
    batch: int,
    output: Wanted | None,
    as_json: bool,
    catalog: Path | None,
) -> None:
    """Say what attention moves through the memory of HARDWARE: the n x n matrix written out, against tiles on chip.

    \b
    rackfit attention Llama-3.1-8B --on a100-sxm4-80gb
    rackfit attention Qwen3-32B --on h100-sxm5-80gb --context 32k --batch 4 --json
    """
    from rackfit.ask.attention import DEFAULT_CONTEXT
    from rackfit.ask.attention import attention as moves

    with opened(catalog) as connection:
        answer = moves(connection, model, on, context or DEFAULT_CONTEXT, batch)
        if output is not None:
            from rackfit.export.answers import breakdown

            asked = {"model": model, "on": on, "context": context, "batch": batch}
            output.write(connection, breakdown(connection, answer, "attention"), {"asked": asked})
            return
    show_json(answer) if as_json else _show_attention(answer)


def _show_attention(answer: Mapping[str, Any]) -> None:
    found = answer["hierarchy"]
    click.echo(f"{answer['model']} on {found['name']}, {answer['context']:,} tokens x {answer['batch']}\n", color=False)
    show_table(found["levels"], LEVEL_COLUMNS)
    ratio = found["sram_to_memory_bandwidth"]
    shown = f"{ratio:g} times: {found['ratio_basis']}" if ratio else found["ratio_basis"]
    show_pairs([("on chip over memory", shown), ("ridge", f"{answer['ridge_flops_per_byte']:g} FLOPs per byte")])
    for layer in answer["layers"]:
        click.echo(f"\none {layer['attention']} layer: {layer['heads']} heads of {layer['head_dim']}", color=False)
        tiled = layer["tiled_s"]
        show_pairs(
            [
                ("one head's scores", f"{layer['score_bytes_per_head'] / 1e9:,.4g} GB"),
                ("all heads' scores", f"{layer['score_bytes_per_layer'] / 1e9:,.4g} GB"),
                ("written out, moves", f"{layer['materialised_bytes'] / 1e9:,.4g} GB, {layer['materialised_side']}"),
                ("at least", f"{layer['materialised_s']:.3g} s"),
                ("tiled, moves", tiled and f"{layer['tiled_bytes'] / 1e9:,.4g} GB, {layer['tiled_side']}"),
                ("at least ", tiled and f"{tiled:.3g} s"),
                ("scores fill memory at", f"{layer['longest_context_all_heads']:,} tokens (all heads)"),
                ("", f"{layer['longest_context_one_head']:,} tokens (one head)"),
            ]
        )
    for note in answer["assumptions"]:
        click.echo(f"note: {note}", color=False)
