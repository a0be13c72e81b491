"""`rackfit explain-log`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Figure, Tokens, catalog_option, json_option, opened
from rackfit.cli.showing import cell, show_json, show_pairs, show_table

SHARE = Figure(0, 1, min_open=True)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)

_OVERRIDES = (
    click.option("--model", help="Model  [default: as the log names it]"),
    click.option("--on", metavar="HARDWARE", help="Device or machine  [default: as the log names it]"),
    click.option("--precision", help="Weight format"),
    click.option("--kv-precision", help="Format of the cache"),
    click.option("--context", type=Tokens(), help="Tokens per sequence, 32k = 32768"),
    click.option("--sequences", type=ONE_OR_MORE, help="Sequences at a time"),
    click.option("--tp", type=ONE_OR_MORE, help="Tensor parallel degree"),
    click.option("--pp", type=ONE_OR_MORE, help="Pipeline stages"),
    click.option("--utilization", type=SHARE, help="Share of memory that the engine may use"),
    click.option("--max-batched-tokens", type=Tokens(), help="Tokens of one forward pass"),
    click.option("--max-sequences", type=ONE_OR_MORE, help="The engine's sequence limit"),
)


def override_options(function: Any) -> Any:
    """Give a command the options that replace or complete what a log says."""
    for option in reversed(_OVERRIDES):
        function = option(function)
    return function


@click.command("explain-log", short_help="An engine's start-up log: printed beside predicted")
@click.argument("file", metavar="FILE")
@override_options
@click.option("--measurement", type=NEW_FILE, help="Add the figures to this CSV file of cases")
@click.option("--source", "source_url", metavar="URL", help="Page that shows the log, for --measurement")
@json_option
@catalog_option
def explain_log(
    file: str,
    measurement: Path | None,
    source_url: str | None,
    as_json: bool,
    catalog: Path | None,
    **given: Any,
) -> None:
    """Put what an engine printed at start beside what is predicted, by component, per device.

    FILE is a log of vLLM, SGLang, llama.cpp or Ollama; - reads standard input. Lines may carry any prefix.

    \b
    rackfit explain-log vllm.log --on rtx-5090
    docker logs vllm 2>&1 | rackfit explain-log - --model Qwen3-8B --json
    rackfit explain-log llama.log --measurement my-cases.csv
    """
    from rackfit.intake.explain import explain
    from rackfit.intake.log_configuration import Overrides, configuration_of
    from rackfit.intake.log_measurements import append, as_measurement
    from rackfit.intake.logs.reading import STDIN, read_log, read_text

    log = read_log(read_text(file), "standard input" if file == STDIN else file)
    overrides = Overrides(**given)
    with opened(catalog) as connection:
        answer = explain(connection, log, overrides)
        if measurement is not None:
            rows = as_measurement(log, configuration_of(connection, log, overrides), source_url)
            answer["measurement"] = {"file": str(measurement), "rows": len(rows), "added": append(measurement, rows)}
    show_json(answer) if as_json else _show(answer)


_DEVICE_COLUMNS = {
    "rank": "device",
    "name": "name",
    "total_bytes": "total",
    "free_bytes": "free",
    "used_bytes": "counts as",
}


def _show(answer: Mapping[str, Any]) -> None:
    """Show what was found, the table of components, then what follows and what to mind."""
    show_pairs([("engine", " ".join(part for part in (answer["engine"], answer["version"]) if part))])
    show_pairs([(name.replace("_", " "), value) for name, value in answer["configuration"].items()])
    if answer["components"]:
        click.echo("\nper device", color=False)
        show_table(
            [
                {
                    "": one["label"],
                    "rank": one["rank"] or "",
                    "printed": cell("printed_bytes", one["printed_bytes"]),
                    "predicted": cell("predicted_bytes", one["predicted_bytes"]),
                    "difference": cell("difference_bytes", one["difference_bytes"]),
                    "in range": one["inside_range"],
                }
                for one in answer["components"]
            ]
        )
        click.echo("", color=False)
    for one in answer["components"]:
        if one["cause"]:
            click.echo(f"- {one['label']}: {one['cause']}", color=False)
    derived = {name: value for name, value in answer["derived"].items() if name != "note" and value is not None}
    show_pairs([(name.removesuffix("_bytes").replace("_", " "), cell(name, value)) for name, value in derived.items()])
    if "note" in answer["derived"]:
        click.echo(f"- {answer['derived']['note']}", color=False)
    if answer["devices"]:
        click.echo("", color=False)
        show_table(answer["devices"], _DEVICE_COLUMNS)
    for heading in ("warnings", "missing", "assumptions"):
        for line in answer[heading]:
            click.echo(f"- {'' if heading != 'warnings' else 'warning: '}{line}", color=False)
    if "measurement" in answer:
        kept = answer["measurement"]
        click.echo(f"- {kept['added']} of {kept['rows']} figures added to {kept['file']}", color=False)
