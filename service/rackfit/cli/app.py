"""The command group: commands are found by name and imported when they are called."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from rackfit.cli.failures import run

COMMANDS = {
    "build": "rackfit.cli.building:build",
    "serve": "rackfit.cli.building:serve",
    "fit": "rackfit.cli.fitting:fit",
    "train": "rackfit.cli.training:train",
    "estimate": "rackfit.cli.fitting:estimate",
    "speed": "rackfit.cli.speed:speed",
    "plan": "rackfit.cli.planning:plan",
    "compare": "rackfit.cli.comparing:compare",
    "power": "rackfit.cli.power:power",
    "scaling": "rackfit.cli.speed:scaling",
    "attention": "rackfit.cli.speed:attention",
    "cost": "rackfit.cli.costing:cost",
    "prices": "rackfit.cli.prices:prices",
    "hardware": "rackfit.cli.facts:hardware",
    "models": "rackfit.cli.facts:models",
    "show": "rackfit.cli.facts:show",
    "export": "rackfit.cli.taking:export",
    "export quote": "rackfit.cli.quoting:quote",
    "tender": "rackfit.cli.tendering:tender",
    "sql": "rackfit.cli.taking:sql",
    "accuracy": "rackfit.cli.scoring:accuracy",
    "explain-log": "rackfit.cli.explaining:explain_log",
    "detect": "rackfit.cli.detecting:detect",
    "diff": "rackfit.cli.diffing:diff",
}
"""Command -> where it is. The order is that of `rackfit --help`."""


class LazyGroup(click.Group):
    """A group that imports a command's module only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that was asked for, of one word or two, or name those that are spelled like it."""
        if " ".join(args[:2]) in COMMANDS and len(args) > 1:
            name = " ".join(args[:2])
            return name, self.get_command(ctx, name), args[2:]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else f"commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="rackfit", message="rackfit %(version)s")
def cli() -> None:
    """Does this language model fit this hardware? Sourced answers from a catalog in SQLite.

    \b
    rackfit serve                                   browse the catalog in Datasette
    rackfit fit Qwen3-32B --on "2x rtx-4090"        one model on one machine
    rackfit fit Qwen3-32B                           where does it run, smallest first
    rackfit fit --on rtx-3090                       what runs on this machine
    rackfit show h100-sxm5-80gb                     facts with their sources

    Exit status: 0 for any verdict, 2 for wrong usage or an unknown name, 1 for a failure.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    raise SystemExit(run(cli, arguments))
