"""`rackfit train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Figure, Model, Tokens, catalog_option, json_option, opened
from rackfit.cli.showing import gib, show_json, show_pairs, show_table
from rackfit.cli.taking import Wanted, output_option


@click.command(short_help="Can a model be trained, how, and with how large a batch")
@click.argument("model", type=Model())
@click.option(
    "--on", required=True, metavar="HARDWARE", help='Device, system or expression, such as "8x h100-sxm5-80gb"'
)
@click.option("--recipe", help="full, bf16, 8bit, lora, qlora, dora, fp32, muon, ... or a recipe's id  [default: full]")
@click.option("--optimizer", help="adamw, adamw_8bit, paged_adamw_8bit, lion, muon, adafactor, sgd, ...")
@click.option("--zero", type=click.IntRange(0, 3), help="ZeRO / FSDP stage  [default: the lowest that fits]")
@click.option("--recompute", help="none, selective, selective_op or full  [default: the least that fits]")
@click.option("--offload", help="none, optimizer, params, activations, all; =nvme for NVMe  [default: least]")
@click.option("--tp", type=ONE_OR_MORE, help="Tensor parallel degree")
@click.option("--pp", type=ONE_OR_MORE, help="Pipeline stages")
@click.option("--cp", type=ONE_OR_MORE, help="Context parallel degree: devices that share one sequence")
@click.option("--ep", type=ONE_OR_MORE, help="Expert parallel degree")
@click.option("--rank", type=ONE_OR_MORE, help="Rank of the adapters  [default: 16]")
@click.option("--targets", help="Adapted matrices, such as q+v, attn+mlp, all  [default: all]")
@click.option("--base", help="Frozen base of adapters: bf16, int8, nf4, gptq, awq, ...  [default: the recipe's]")
@click.option("--fused-update", is_flag=True, help="Apply and drop each gradient inside the backward pass")
@click.option("--sequence-length", type=Tokens(), help="Tokens per sequence, 32k = 32768  [default: 4096]")
@click.option("--micro-batch", type=ONE_OR_MORE, help="Sequences per device at a time  [default: 1]")
@click.option("--accumulation", type=ONE_OR_MORE, help="Micro-batches whose gradients are summed  [default: 1]")
@click.option("--framework", help="transformers, deepspeed, torchtitan, torchtune, megatron, unsloth, ...")
@click.option("--shards", type=ONE_OR_MORE, help="Ranks that divide the states (hybrid sharding)  [default: all]")
@click.option("--host-ram", "host_ram_gib", type=Figure(0, 2**20), metavar="GIB", help="RAM of each machine, GiB")
@click.option("--reshard/--no-reshard", default=True, help="Drop gathered weights after the forward pass, or keep them")
@click.option(
    "--flash/--no-flash", default=None, help="Fused attention, or one that keeps its scores  [default: the framework's]"
)
@click.option("--loss", help="full, chunked, fused_linear, cut, ...  [default: the framework's]")
@click.option("--job", help="sft, dpo, grpo, ppo or distill  [default: sft]")
@click.option("--teacher", type=Model(), metavar="MODEL", help="Frozen teacher of a distillation")
@click.option("--rollout-share", type=Figure(0, 1, max_open=True), help="Share kept by a rollout engine")
@click.option("--tokens", type=click.FloatRange(min=1), help="Tokens of the run, such as 1e12: days")
@output_option
@json_option
@catalog_option
def train(model: str, output: Wanted | None, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Say whether MODEL can be trained on HARDWARE, by which strategy, with the bytes behind it.

    Without --zero, --recompute and --offload: the least aggressive strategy that fits.

    \b
    rackfit train Llama-3.1-8B --on "8x h100-sxm5-80gb"
    rackfit train Qwen3-32B --on rtx-4090 --recipe qlora --rank 32 --sequence-length 8k
    rackfit train Llama-3.1-70B --on dgx-h100 --recipe 8bit --json
    rackfit train Llama-3.1-8B --on "8x h100-sxm5-80gb" -o breakdown.xlsx
    """
    from rackfit.ask.train import TrainQuestion, train_one

    with opened(catalog) as connection:
        answer = train_one(connection, TrainQuestion(model=model, **asked))
        if output is not None:
            from rackfit.export.answers import breakdown

            output.write(connection, breakdown(connection, answer, "training"), {"asked": {"model": model, **asked}})
            return
    show_json(answer) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    """Show the verdict first, then the strategy, the bytes and what else would do."""
    click.echo(f"{answer['verdict'].upper().replace('_', ' ')}: {answer['reason']}", color=False)
    names = ("model", "hardware", "recipe_name", "job", "framework", "trained_params", "sequence_length", "micro_batch")
    show_pairs([(name.replace("_", " "), answer.get(name)) for name in names])
    strategy = answer["strategy"]
    degrees = " ".join(f"{name}={strategy[name]}" for name in ("dp", "tp", "pp", "cp", "ep"))
    show_pairs(
        [
            ("strategy", f"ZeRO {strategy['zero']}, recompute {strategy['recompute']}, {degrees}"),
            ("offload", _offload(strategy)),
            ("limit", answer.get("limit")),
            ("largest micro-batch", answer["max_micro_batch"]),
            ("longest sequence", answer["max_sequence_length"]),
            ("fewest devices", answer["smallest_count"]),
            *_time(answer["time"]),
        ]
    )
    _show_bytes(answer)
    if answer["roles"]:
        click.echo("\nmodels of the job, each on devices of its own", color=False)
        show_table(answer["roles"], _ROLES)
    click.echo("\nother strategies", color=False)
    show_table(answer["alternatives"], _ALTERNATIVES)
    click.echo("\nother recipes", color=False)
    show_table(answer["other_recipes"], _RECIPES)
    click.echo("\nassumed", color=False)
    for line in answer["assumptions"]:
        click.echo(f"- {line}", color=False)


def _time(time: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the lines that say how fast the run goes, or why that is not known."""
    if time["tokens_per_s"] is None:
        return [("speed", f"not known: {time['reason']}")]
    spread = f"{time['tokens_per_s']:,.0f} tokens/s, {time['low']:,.0f} to {time['high']:,.0f}"
    lines = [("speed (estimate)", spread)]
    if "days" in time:
        lines.append(("days", f"{time['days']:.3g}, {time['days_low']:.3g} to {time['days_high']:.3g}"))
    return lines


_ALTERNATIVES = {
    "zero": "ZeRO",
    "recompute": "recompute",
    "offload_optimizer": "optimizer to",
    "offload_parameters": "params to",
    "tp": "TP",
    "loss": "loss",
    "verdict": "verdict",
    "driver_bytes": "needed",
    "margin_bytes": "left",
}


_ROLES = {
    "role": "role",
    "trained": "trained",
    "bytes": "bytes",
    "devices_apart": "fewest devices",
}


_RECIPES = {
    "recipe": "recipe",
    "zero": "ZeRO",
    "recompute": "recompute",
    "offload_optimizer": "optimizer to",
    "verdict": "verdict",
    "driver_bytes": "needed",
    "smallest_count": "fewest devices",
}


def _offload(strategy: Mapping[str, Any]) -> str | None:
    moved = [name for name in ("optimizer", "parameters") if strategy[f"offload_{name}"] != "none"]
    moved += ["activations"] if strategy["offload_activations"] else []
    return " + ".join(moved) or None


def _show_bytes(answer: Mapping[str, Any]) -> None:
    """Show the components on a device, and what the host and the disk hold."""
    device, host = answer.get("per_device"), answer.get("per_host")
    if not device or not host:
        return
    click.echo("\nGiB per device", color=False)
    totals = ("allocated", "reserved", "driver", "freeable", "usable")
    last = {f"{name}_bytes" for name in (*totals, "low", "high", "margin")}
    for name, value in device.items():
        if name.endswith("_bytes") and name not in last:
            click.echo(f"  {name.removesuffix('_bytes').replace('_', ' '):<24}{gib(value):>10}", color=False)
    click.echo(f"  at its peak ({device['peak_moment']}):", color=False)
    for name in (name for name in totals if name != "freeable" or device["freeable_bytes"]):
        click.echo(f"  {name:<24}{gib(device[f'{name}_bytes']):>10}", color=False)
    click.echo("", color=False)
    show_pairs(
        [
            ("host RAM", host["ram_bytes"] and f"{gib(host['ram_bytes'])} GiB"),
            ("NVMe", host["nvme_bytes"] and f"{gib(host['nvme_bytes'])} GiB"),
            ("checkpoint to resume", f"{gib(answer['checkpoint']['resume_bytes'])} GiB"),
        ]
    )
