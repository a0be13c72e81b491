"""Options of commands about one model on one machine while it runs: speed, scaling, cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rackfit.cli.options import Model, Tokens

ONE_OR_MORE = click.IntRange(min=1)

SUBJECT = (
    click.argument("model", type=Model()),
    click.option("--on", metavar="HARDWARE", required=True, help='Device, system or expression, such as "8x h100"'),
    click.option("--precision", help="Weight format  [default: the checkpoint's own]"),
    click.option("--kv-precision", help="Format of the cache  [default: 16 bits]"),
    click.option("--runtime", help="Engine, such as vllm, sglang, llama.cpp, transformers"),
)
LAYOUT = (
    click.option("--context", type=Tokens(), help="Tokens per sequence, 32k = 32768  [default: 8192 or the model's]"),
    click.option("--sequences", type=ONE_OR_MORE, help="Sequences at a time  [default: 1]"),
    click.option("--tp", type=ONE_OR_MORE, help="Tensor parallel degree  [default: the best layout]"),
    click.option("--pp", type=ONE_OR_MORE, help="Pipeline stages"),
    click.option("--ep", type=ONE_OR_MORE, help="Expert parallel degree"),
    click.option("--dp", type=ONE_OR_MORE, help="Replicas"),
    click.option("--gpu-layers", type=ONE_OR_MORE, help="Layers on devices, the rest in RAM"),
    click.option("--cpu-experts", type=ONE_OR_MORE, help="First layers whose experts lie in RAM"),
)


def with_options(*groups: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """Return a decorator that gives a command the options of some groups, in their order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([one for group in groups for one in group]):
            function = option(function)
        return function

    return add
