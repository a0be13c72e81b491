"""`rackfit hardware`, `rackfit models` and `rackfit show`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import Figure, Tokens, catalog_option, json_option, limit_option, opened
from rackfit.cli.showing import show_json, show_list, show_pairs, show_table

AMOUNT = Figure(min=0)

HARDWARE_COLUMNS = {
    "accelerator_id": "device",
    "memory_gb": "GB",
    "fit_memory_bytes": "seen by driver",
    "memory_bandwidth_gb_s": "GB/s",
    "bf16_dense_tflops": "bf16 TFLOPS",
    "tdp_w": "W",
    "segment": "segment",
    "marks": "marks",
}
MODEL_COLUMNS = {
    "model_id": "model",
    "params_total": "parameters",
    "params_active": "active",
    "attention_kind": "attention",
    "max_context": "context",
    "kv_bytes_per_token": "KV B/token",
    "native_precision_id": "precision",
    "marks": "marks",
}


@click.command(short_help="Accelerators, filtered and sorted")
@click.argument("text", required=False, metavar="[FILTER]")
@click.option("--vendor", help="NVIDIA, AMD, Apple, ...")
@click.option("--segment", help="datacenter, workstation, consumer, laptop, unified, edge, tpu_asic")
@click.option("--min-memory", type=AMOUNT, metavar="GB", help="At least so much memory, GB on the label")
@click.option("--min-bandwidth", type=AMOUNT, metavar="GB/S", help="At least so much memory bandwidth")
@click.option("--announced", is_flag=True, help="Also parts that are announced only")
@limit_option(400)
@json_option
@catalog_option
def hardware(as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """List accelerators; FILTER is a part of a name, vendor or architecture.

    \b
    rackfit hardware hopper
    rackfit hardware --vendor AMD --min-memory 128 --json
    """
    from rackfit.ask.facts import hardware as find

    with opened(catalog) as connection:
        found = find(connection, **asked)
    show_list(asked, found) if as_json else show_table(found, HARDWARE_COLUMNS, "no such hardware")


@click.command(short_help="Model architectures, filtered and sorted")
@click.argument("text", required=False, metavar="[FILTER]")
@click.option("--family", help="llama, qwen3, deepseek, ...")
@click.option("--attention", help="Kind of attention: gqa, mla, ...")
@click.option("--max-params", type=AMOUNT, metavar="BILLIONS", help="At most so many parameters, 10^9")
@click.option("--min-params", type=AMOUNT, metavar="BILLIONS", help="At least so many parameters, 10^9")
@click.option("--min-context", type=Tokens(), help="At least so long a context")
@limit_option(1000)
@json_option
@catalog_option
def models(as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """List model architectures; FILTER is a part of a name, family or checkpoint.

    \b
    rackfit models qwen3
    rackfit models --attention mla --json
    """
    from rackfit.ask.facts import models as find

    with opened(catalog) as connection:
        found = find(connection, **asked)
    show_list(asked, found) if as_json else show_table(found, MODEL_COLUMNS, "no such model")


@click.command(short_help="One record: facts, sources, disputes, gaps")
@click.argument("name")
@json_option
@catalog_option
def show(name: str, as_json: bool, catalog: Path | None) -> None:
    """Show what is known under NAME, with unit, source and doubt of each fact.

    NAME is an accelerator, system, model, checkpoint, precision, runtime or interconnect.

    \b
    rackfit show h100-sxm5-80gb
    rackfit show "NVIDIA A100-SXM4-80GB"
    rackfit show q4_k_m --json
    """
    from rackfit.ask.facts import show as look

    with opened(catalog) as connection:
        answer = look(connection, name)
    show_json(answer) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    """Show one record, or what a class name stands for."""
    if "candidates" in answer:
        count, kind = len(answer["candidates"]), answer["kind"]
        click.echo(f"{answer['query']} is a class of {count} {kind} records:", color=False)
        show_table(answer["candidates"])
        return
    click.echo(f"{answer['name']}  ({answer['kind']} {answer['id']})", color=False)
    show_pairs([("also called", ", ".join(answer["aliases"])), ("confidence", answer.get("confidence"))])
    click.echo("", color=False)
    show_table([_fact(fact) for fact in answer["facts"]])
    for title, rows in answer["parts"].items():
        click.echo(f"\n{title.replace('_', ' ')}", color=False)
        show_table(rows, _part_columns(title, rows))
    for dispute in answer["disputes"]:
        source = f" ({dispute['source_id']})" if dispute["source_id"] else ""
        click.echo(f"\ndisputed {dispute['field']}: {dispute['other_value']}{source}: {dispute['reason']}", color=False)
    if answer["unknown"]:
        click.echo(f"\nlooked for and not found: {', '.join(answer['unknown'])}", color=False)
    click.echo("\nsources", color=False)
    for source in answer["sources"]:
        click.echo(f"  {source['source_id']}: {source['title']}  {source['url'] or ''}".rstrip(), color=False)


PART_COLUMNS = {
    "checkpoints": ("checkpoint_id", "native_precision_id", "max_context", "licence", "release_date"),
    "layer_groups": (
        *("count", "attention", "n_heads", "n_kv_heads", "d_k", "d_v", "window", "ffn", "d_ff"),
        *("n_experts", "n_experts_active", "moe_d_ff", "params_per_layer"),
    ),
    "artifacts": ("artifact_id", "precision_id", "bytes", "confidence"),
}
"""Columns of long tables that people are shown; --json has all."""


def _part_columns(title: str, rows: list[dict[str, Any]]) -> dict[str, str] | None:
    chosen = [name for name in PART_COLUMNS.get(title, ()) if name in rows[0]]
    return {name: name for name in chosen} or None


def _fact(fact: Mapping[str, Any]) -> dict[str, Any]:
    value = fact["value"]
    return {
        "fact": fact["field"],
        "value": value,
        "unit": fact["unit"],
        "sources": ", ".join(fact["sources"]) or fact["origin"],
        "marks": ", ".join(fact["marks"]),
    }
