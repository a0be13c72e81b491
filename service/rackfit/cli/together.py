"""Several models on one machine, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rackfit.cli.showing import show_pairs, show_table

_COLUMNS = {
    "model": "model",
    "precision": "precision",
    "runtime": "runtime",
    "weights_bytes": "weights",
    "kv_bytes": "KV cache",
    "needed_bytes": "needed",
    "utilization": "share to set",
    "verdict_alone": "alone",
}


def show_together(answer: Mapping[str, Any]) -> None:
    """Show the verdict of the sum, then a row for each model, bytes per device."""
    click.echo(f"{answer['verdict'].upper().replace('_', ' ')}: {answer['reason']}", color=False)
    show_pairs([("hardware", answer["hardware"])])
    click.echo("", color=False)
    show_table(answer["models"], _COLUMNS)
    device = answer["per_device"]
    if device:
        click.echo("", color=False)
        names = (("needed", "total_bytes"), ("at most", "high_bytes"), ("of", "usable_bytes"), ("left", "margin_bytes"))
        show_pairs([(label, _gib(device[name])) for label, name in names])
    for line in (*answer["warnings"], *answer["assumptions"]):
        click.echo(f"- {line}", color=False)


def _gib(value: float) -> str:
    return f"{value / 2**30:,.2f} GiB per device"
