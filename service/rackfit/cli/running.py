"""Options of commands about one model on one machine while it runs: speed, scaling, cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Model, Tokens
from rackfit.cli.showing import show_pairs

FORMATS = (
    click.option("--precision", help="Weight format  [default: the checkpoint's own]"),
    click.option("--kv-precision", help="Format of the cache  [default: 16 bits]"),
)
LOAD = (
    click.option("--context", type=Tokens(), help="Tokens per sequence, 32k = 32768  [default: 8192 or the model's]"),
    click.option("--sequences", type=ONE_OR_MORE, help="Sequences at a time  [default: 1]"),
)
DEGREES = (
    click.option("--tp", type=ONE_OR_MORE, help="Tensor parallel degree  [default: the best layout]"),
    click.option("--pp", type=ONE_OR_MORE, help="Pipeline stages"),
    click.option("--ep", type=ONE_OR_MORE, help="Expert parallel degree"),
    click.option("--dp", type=ONE_OR_MORE, help="Replicas"),
)
SUBJECT = (
    click.argument("model", type=Model()),
    click.option("--on", metavar="HARDWARE", required=True, help='Device, system or expression, such as "8x h100"'),
    *FORMATS,
    click.option("--runtime", help="Engine, such as vllm, sglang, llama.cpp, transformers"),
)
LAYOUT = (
    *LOAD,
    *DEGREES,
    click.option("--gpu-layers", type=ONE_OR_MORE, help="Layers on devices, the rest in RAM"),
    click.option("--cpu-experts", type=ONE_OR_MORE, help="First layers whose experts lie in RAM"),
)


def show_subject(answer: Mapping[str, Any]) -> None:
    """Show what an answer is about: model, machine, format, engine, layout, and whether it fits."""
    layout = answer["layout"] or {}
    show_pairs(
        [
            ("model", answer["model"]),
            ("hardware", answer["hardware"]),
            ("precision", f"{answer['precision']} ({answer['precision_support']})"),
            ("runtime", answer["runtime"]),
            ("layout", ", ".join(f"{name.upper()} {degree}" for name, degree in layout.items())),
            ("fits", f"{answer['verdict']}: {answer['reason']}"),
        ]
    )
