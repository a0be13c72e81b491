"""`rackfit detect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import catalog_option, json_option, opened
from rackfit.cli.showing import gib, show_json, show_table

COLUMNS = {
    "index": "device",
    "name": "name",
    "hardware": "record",
    "total_gib": "total GiB",
    "free_gib": "free GiB",
}


@click.command("detect", short_help="The devices of this machine, or of a tool's output")
@click.option("--from", "source", metavar="FILE", help="Output of a tool instead of this machine; - is standard input")
@json_option
@catalog_option
def detect(source: str | None, as_json: bool, catalog: Path | None) -> None:
    """List devices with their records, and the hardware to ask about.

    Without --from the tools of this machine are asked: nvidia-smi, rocm-smi, system_profiler. FILE is the output of one
    of them on another machine, as text, CSV or JSON, or a log of llama.cpp that lists devices.

    \b
    rackfit detect
    nvidia-smi | rackfit detect --from -
    rackfit fit --on "$(rackfit detect --json | jq -r .hardware)"
    """
    from rackfit.intake.detected import detected
    from rackfit.intake.driver.local import outputs_here, system_bytes_here
    from rackfit.intake.driver.reading import read_devices
    from rackfit.intake.logs.reading import STDIN, read_text

    if source is None:
        outputs, system = outputs_here(), system_bytes_here()
    else:
        outputs = [read_devices(read_text(source), "standard input" if source == STDIN else source)]
        system = None
    with opened(catalog) as connection:
        answer = detected(connection, outputs, system)
    show_json(answer) if as_json else _show(answer)


def _show(answer: dict[str, Any]) -> None:
    rows = answer["devices"]
    sizes = [{"total_gib": gib(row["total_bytes"]), "free_gib": gib(row["free_bytes"])} for row in rows]
    show_table([{**row, **size} for row, size in zip(rows, sizes, strict=True)], COLUMNS)
    for note in [*_notes(rows), *answer["notes"]]:
        click.echo(f"- {note}", color=False)
    if answer["hardware"] is None:
        click.echo("\nno device has a record: rackfit hardware lists them", color=False)
        return
    usable = f" --usable {answer['usable_gib']}" if answer["usable_gib"] else ""
    click.echo(f"\nhardware: {answer['hardware']}", color=False)
    click.echo(f"what runs: rackfit fit --on '{answer['hardware']}'{usable}", color=False)
    if answer["free_gib"] is not None:
        now = f"rackfit fit --on '{answer['hardware']}' --usable {answer['free_gib']}"
        click.echo(f"beside what runs on it now: {now}", color=False)


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """Return the notes on devices, each once with the devices that it is true of."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            said.setdefault(row["note"], []).append(row["index"])
    return [f"device{'s' if len(of) > 1 else ''} {', '.join(of)}: {note}" for note, of in said.items()]
