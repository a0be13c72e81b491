"""`rackfit fit` and `rackfit estimate`."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import (
    ONE_OR_MORE,
    Amount,
    Figure,
    Model,
    Split,
    Tokens,
    catalog_option,
    json_option,
    limit_option,
    opened,
    price_options,
    split_prices,
    with_options,
)
from rackfit.cli.running import DEGREES, FORMATS, LOAD
from rackfit.cli.showing import gib, show_json, show_list, show_pairs, show_table, sized
from rackfit.cli.taking import Wanted, output_option

SHARE = Figure(0, 1, min_open=True)
AMOUNT = Figure(min=0)

_QUESTION = (
    click.option("--on", metavar="HARDWARE", help='Device, system or expression, such as "8x h100-sxm5-80gb"'),
    *FORMATS,
    *LOAD,
    *DEGREES,
    click.option("--dcp", type=ONE_OR_MORE, help="Decode context parallel: ranks that share one copy of the cache"),
    click.option("--runtime", help="Engine, such as vllm, sglang, llama.cpp; a version may follow: vllm 0.11.0"),
    click.option("--utilization", type=SHARE, help="Share of memory that the engine may use"),
    click.option("--max-batched-tokens", type=Tokens(), help="Tokens of one forward pass"),
    click.option("--max-sequences", type=ONE_OR_MORE, help="The engine's sequence limit"),
    click.option(
        "--gpu-layers", type=Amount("auto"), help="Layers on devices, the rest in RAM; auto: the most that fit"
    ),
    click.option("--cpu-experts", type=Amount("auto", "all"), help="First layers whose experts lie in RAM; auto, all"),
    click.option("--host-ram", "host_ram_gib", type=AMOUNT, metavar="GIB", help="RAM of the machine, GiB"),
    click.option("--split", type=Split(), help="Layers on each device, such as 24,12"),
    click.option("--draft", type=Model(), metavar="MODEL", help="Draft model of speculative decoding"),
    click.option("--mtp", is_flag=True, help="With the model's own prediction heads"),
    click.option("--lora-slots", type=ONE_OR_MORE, help="Adapters loaded at a time"),
    click.option("--lora-rank", type=ONE_OR_MORE, help="Largest rank of an adapter"),
    click.option("--images", type=ONE_OR_MORE, help="Images per request"),
    click.option("--eager", is_flag=True, help="No captured graphs (vLLM's --enforce-eager): less memory, slower"),
    click.option("--text-only", is_flag=True, help="Images switched off: vLLM then profiles none"),
    click.option("--usable", "usable_gib", type=AMOUNT, metavar="GIB", help="Usable memory per device, GiB"),
    click.option("--reserve", "reserve_gib", type=AMOUNT, metavar="GIB", help="Kept free per device, GiB"),
    click.option("--max-price", type=AMOUNT, help="Most per hour, by the offers that --currency, --term ... let count"),
)


question_options = with_options(_QUESTION)
"""Gives a command every option of a fit question."""


@click.command(short_help="Does a model fit, where, and with how long a context")
@click.argument("models", nargs=-1, type=Model(), metavar="[MODEL]...")
@question_options
@price_options
@click.option("--cheapest", is_flag=True, help="Where it runs, the lowest price first, without a price last")
@limit_option(20)
@output_option
@json_option
@catalog_option
def fit(
    models: tuple[Any, ...],
    cheapest: bool,
    limit: int,
    output: Wanted | None,
    as_json: bool,
    catalog: Path | None,
    **asked: Any,
) -> None:
    """Say whether MODEL fits on HARDWARE, with the bytes behind the verdict.

    Without --on: every configuration that fits, smallest first. Without MODEL: what runs on that machine. Several
    models share the devices: each needs its part of every one.

    \b
    rackfit fit Qwen3-32B --on "2x rtx-4090" --precision awq --context 32k
    rackfit fit Llama-3.1-70B --max-price 10
    rackfit fit --on "m4-max-128gb" --json
    rackfit fit Qwen3-30B-A3B --on rtx-3090 --precision q8_0 --cpu-experts auto --host-ram 64
    rackfit fit Qwen3-8B Qwen3-4B --on h100-sxm5-80gb
    rackfit fit Qwen3-8B --on cpu --host-ram 32
    rackfit fit Llama-3.1-70B --max-price 10 -o where.xlsx
    rackfit fit ./my-finetune/config.json --on rtx-4090
    rackfit fit model-Q4_K_M.gguf --on rtx-3090

    MODEL is a name, or a path to a config.json, a .safetensors or a .gguf file, or a folder of them: only headers are
    read. All parts of a split file must lie beside it.
    """
    from rackfit.ask.question import FitQuestion

    if not models and asked["on"] is None:
        raise click.UsageError("name a MODEL, or hardware with --on, or both", click.get_current_context())
    if len(models) > 1 and asked["on"] is None:
        raise click.UsageError("several models need hardware: --on", click.get_current_context())
    about, words = split_prices(asked)
    question = FitQuestion(model=models[0] if models else None, limit=limit, **about)
    query = {"model": question.model, **asked, "limit": limit}
    with opened(catalog) as connection:
        if len(models) > 1:
            from rackfit.ask.together import fit_together
            from rackfit.cli.together import show_together

            several = fit_together(connection, list(models), question)
            if output is not None:
                _save(connection, output, several, {**query, "model": list(models)})
                return
            show_json(several) if as_json else show_together(several)
            return
        if models and asked["on"] is not None:
            from rackfit.ask.fit import fit_one

            answer = fit_one(connection, question)
            if output is not None:
                _save(connection, output, answer, query)
                return
            show_json(answer) if as_json else _show_one(answer)
            return
        answers = _where(connection, question, words, cheapest) if models else _what(connection, question)
        if output is not None:
            from rackfit.export.answers import listed

            output.write(connection, listed(connection, answers, query, "fits"), {"asked": query})
            return
    show_list(query, answers) if as_json else show_table(answers, _WHERE if models else _WHAT, "nothing fits")


def _save(connection: sqlite3.Connection, wanted: Wanted, answer: Mapping[str, Any], query: Mapping[str, Any]) -> None:
    """Write one answer to a file, part by part."""
    from rackfit.export.answers import breakdown

    wanted.write(connection, breakdown(connection, answer, "fit"), {"asked": query})


def _where(
    connection: sqlite3.Connection, question: Any, words: dict[str, Any], cheapest: bool
) -> list[dict[str, Any]]:
    from rackfit.ask.lists import where_it_runs
    from rackfit.ask.prices import read_choice

    return where_it_runs(connection, question, read_choice(connection, **words), cheapest)


def _what(connection: sqlite3.Connection, question: Any) -> list[dict[str, Any]]:
    from rackfit.ask.lists import what_runs

    return what_runs(connection, question)


_BYTES = {
    "precision": "precision",
    "verdict": "verdict",
    "total_bytes": "needed",
    "usable_bytes": "usable",
    "max_context": "max context",
    "runtime": "runtime",
}
_WHERE = {
    "hardware": "hardware",
    **_BYTES,
    "price_per_hour": "per hour",
    "currency": "currency",
    "price_provider": "provider",
    "price_product": "product",
    "price_term": "term",
    "price_date": "price of",
}
_WHAT = {"model": "model", **_BYTES, "limit": "largest term"}
"""Columns that people are shown, bytes per device; --json has everything."""

_PLACED = {
    "accelerator": "device",
    "layers": "layers",
    "weights_bytes": "weights",
    "kv_bytes": "KV cache",
    "total_bytes": "needed",
    "usable_bytes": "usable",
    "verdict": "verdict",
}
"""Columns of what each of several unlike devices holds."""

_OFFLOAD = {
    "gpu_layers": "gpu layers",
    "cpu_experts": "cpu experts",
    "host_bytes": "host",
    "host_ram_bytes": "host ram",
    "host_verdict": "host verdict",
    "most_tokens_per_s": "tokens/s, bound",
}
_TERMS = (
    ("weights_bytes", "weights"),
    ("kv_bytes", "KV cache"),
    ("workspace_bytes", "workspace"),
    ("runtime_bytes", "runtime"),
    ("total_bytes", "needed"),
    ("usable_bytes", "usable"),
    ("kv_reserved_bytes", "engine reserves for KV"),
)


def _show_one(answer: Mapping[str, Any]) -> None:
    """Show one verdict: the sentence first, then what it rests on."""
    click.echo(f"{answer['verdict'].upper().replace('_', ' ')}: {answer.get('reason') or ''}".rstrip(": "), color=False)
    layout = answer.get("layout") or {}
    shown = ("model", "hardware", "precision", "kv_precision", "runtime", "context", "sequences")
    show_pairs([(name.replace("_", " "), answer.get(name)) for name in shown])
    show_pairs([("layout", " ".join(f"{name}={degree}" for name, degree in layout.items()))])
    if (file := answer.get("artifact")) and file["used"]:
        off = file["difference_bytes"] / file["bytes"]
        show_pairs([("published file", f"{gib(file['bytes'])}, {off:+.2%} against the estimate")])
    device = answer.get("per_device")
    if device:
        click.echo("\nGiB per device", color=False)
        for label, size in _lines(device):
            click.echo(f"  {label:<24}{gib(size):>10}", color=False)
        low, high = gib(device["low_bytes"]), gib(device["high_bytes"])
        click.echo(f"  {'likely between':<24}{low:>10} and {high}", color=False)
    if placed := answer.get("placement"):
        click.echo("", color=False)
        show_table(placed, _PLACED)
    click.echo("", color=False)
    show_pairs(
        [
            ("limit", answer.get("limit")),
            ("longest context", answer.get("max_context")),
            ("by memory alone", answer.get("max_context_memory")),
        ]
    )
    for tokens, most in (answer.get("max_sequences") or {}).items():
        show_pairs([(f"sequences of {int(tokens):,}", most)])
    if most_of := answer.get("most_sequences"):
        show_pairs([(f"at {answer['context']:,}, {how}", most) for how, most in most_of.items()])
    if offload := answer.get("offload"):
        click.echo("\nin RAM", color=False)
        show_pairs([(words, _sized(name, offload.get(name))) for name, words in _OFFLOAD.items()])
    for title, lines in (
        ("to mind", answer.get("warnings") or []),
        ("assumed", answer["assumptions"]),
        ("what would change it", _changes(answer)),
    ):
        if lines:
            click.echo(f"\n{title}", color=False)
        for line in lines:
            click.echo(f"- {line}", color=False)


def _lines(device: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield the terms of a device in order, what comes beside the model under the runtime that it is part of."""
    for name, label in _TERMS:
        yield label, device.get(name)
        if name == "runtime_bytes":
            for extra, size in (device.get("extras") or {}).items():
                yield f"  of it {extra.removesuffix('_bytes').replace('_', ' ')}", size


def _sized(name: str, value: Any) -> Any:
    return sized(value) if name.endswith("_bytes") and value is not None else value


def _changes(answer: Mapping[str, Any]) -> list[str]:
    """Return each suggestion as a line: what to change, the options that do it, and the verdict then."""
    about = ("change", "verdict", "margin_bytes", "offload", "layout")
    lines = []
    for item in answer["suggestions"]:
        options = ", ".join(_option(name, value) for name, value in item.items() if name not in about)
        layout = ", ".join(f"{name.upper()} {degree}" for name, degree in item.get("layout", {}).items() if degree > 1)
        shown = f"{item['verdict']}{f' with {layout}' if layout else ''}"
        lines.append(f"{item['change']}: {shown}, {sized(item['margin_bytes'])} left ({options})")
    return lines


def _option(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return option
    return f"without {option}" if value is None else f"{option} {shlex.quote(str(value))}"


@click.command(short_help="Gigabytes from a parameter count alone")
@click.argument("params_billions", metavar="PARAMS", type=Figure(min=0, min_open=True))
@click.option("--precision", default="bf16", show_default=True, help="fp32, bf16, fp16, fp8, int8, int4, nf4 or fp4")
@click.option("--mode", type=click.Choice(["inference", "training"]), default="inference", show_default=True)
@click.option("--context", "kv_cache_tokens", type=Tokens(), help="Tokens in the cache")
@click.option("--layers", "n_layers", type=ONE_OR_MORE, help="Layers that keep a cache")
@click.option("--kv-heads", "n_kv_heads", type=ONE_OR_MORE, help="KV heads of a layer")
@click.option("--head-size", "d_head", type=ONE_OR_MORE, help="Values of a head")
@click.option("--batch-size", type=ONE_OR_MORE, help="Sequences")
@json_option
def estimate(params_billions: float, as_json: bool, **asked: Any) -> None:
    """Estimate decimal gigabytes for PARAMS billion parameters, listing every default assumed.

    A model of the catalog gives a better answer: `rackfit fit MODEL`.

    \b
    rackfit estimate 70 --precision int4
    rackfit estimate 7 --mode training
    """
    from rackfit.memory.quick import estimate_vram

    answer = estimate_vram(params_billions, **asked)
    if as_json:
        show_json(answer)
        return
    show_pairs([(f"{name} GB", value) for name, value in answer.items() if name != "assumed"])
    for name, value in answer["assumed"].items():
        click.echo(f"- assumed {name}: {value}", color=False)
