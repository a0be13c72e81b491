"""`rackfit power`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rackfit.cli.options import ONE_OR_MORE, Figure, catalog_option, json_option, opened
from rackfit.cli.showing import show_json, show_pairs, show_table
from rackfit.cli.taking import Wanted, output_option

ABOVE_ZERO = Figure(0, min_open=True)

_MEASURED = {
    "system_name": "measured at the wall",
    "mode": "mode",
    "tests": "tests",
    "lowest_w": "lowest W",
    "load_mean_w": "mean W under load",
    "p95_w": "95 % below",
    "peak_w": "peak W",
    "date": "date",
    "source_id": "source",
}
_ALIKE = {
    "system_id": "systems with these accelerators",
    "max_power_w": "W at most",
    "rack_units": "U",
    "weight_kg": "kg",
    "cooling": "cooling",
}
_CAPPED = {
    "case_id": "measured at a power limit",
    "gpu": "device",
    "gpu_count": "devices",
    "model_id": "model",
    "precision_id": "format",
    "tokens_per_s": "tokens/s",
    "estimate_tokens_per_s": "our estimate",
}


@click.command(short_help="Watts, heat, weight and racks of machines")
@click.argument("on", metavar="HARDWARE")
@click.option("--devices", type=ONE_OR_MORE, help="Accelerators in all; whole machines are counted")
@click.option("--machines", type=ONE_OR_MORE, help="Machines  [default: those of HARDWARE]")
@click.option("--rack-units", type=ONE_OR_MORE, default=42, show_default=True, help="Height of a rack, U")
@click.option("--rack-kw", type=ABOVE_ZERO, metavar="KW", help="What one rack may draw")
@click.option("--rack-kg", type=ABOVE_ZERO, metavar="KG", help="What one rack may carry")
@click.option("--pue", type=Figure(1), default=1.0, show_default=True, help="Facility power over IT power")
@click.option("--psu", "psu_w", type=ABOVE_ZERO, metavar="WATTS", help="Supply of one machine")
@output_option
@json_option
@catalog_option
def power(output: Wanted | None, as_json: bool, catalog: Path | None, **asked: Any) -> None:
    """Say what HARDWARE draws, what that means in heat, weight and racks, and what was measured at the wall.

    \b
    rackfit power dgx-h100 --machines 4 --rack-kw 45
    rackfit power dgx-h100 --devices 256 --rack-kw 40 --pue 1.3 --json
    rackfit power "2x rtx-3090" --psu 1000
    rackfit power dgx-h100 --machines 4 -o power.csv
    """
    from rackfit.ask.power import PowerQuestion, power_one

    with opened(catalog) as connection:
        answer = power_one(connection, PowerQuestion(**asked))
        if output is not None:
            from rackfit.export.answers import breakdown

            output.write(connection, breakdown(connection, answer, "power"), {"asked": asked})
            return
    show_json(answer) if as_json else _show(answer)


def _show(answer: Mapping[str, Any]) -> None:
    system, site, racks, psu = answer["system"] or {}, answer["site"], answer["racks"], answer["psu"]
    show_pairs(
        [
            ("hardware", answer["hardware"]),
            ("machines", f"{answer['machines']:,} with {answer['devices']:,} accelerators"),
            ("accelerators of one, W", answer["accelerator_w"]),
            ("one machine, W", answer["machine_w"]),
            ("which is", answer["machine_w_basis"]),
            ("typical, W", system.get("typical_power_w")),
            ("supplies", system.get("psu_count") and f"{system['psu_count']:g} x {system['psu_w'] or '?'} W"),
            (
                "one machine",
                system.get("rack_units") and f"{system['rack_units']:g} U, {system['weight_kg'] or '?'} kg",
            ),
            ("cooling", system.get("cooling")),
            ("IT, kW", site["it_kw"]),
            ("facility, kW", site["facility_kw"]),
            ("heat, BTU/h", site["heat_btu_per_hour"]),
            ("kWh per day at most", site["kwh_per_day"]),
            ("weight, kg", site["weight_kg"]),
            ("height, U", site["rack_units"]),
        ]
    )
    if racks:
        said = ", ".join(f"{count} by {name}" for name, count in racks["limits"].items())
        show_pairs(
            [
                ("in a rack", f"{racks['per_rack']} ({said})"),
                ("racks", racks["racks"]),
                ("kW per rack", racks["kw_per_rack"]),
                ("kg per rack", racks["kg_per_rack"]),
            ]
        )
    if psu:
        show_pairs([("supply", f"{psu['psu_w']:g} W leave {psu['left_w']:g} W for the host at full accelerator power")])
    for rows, columns in ((answer["measured"], _MEASURED), (answer["alike"], _ALIKE), (answer["capped"], _CAPPED)):
        if rows:
            click.echo("", color=False)
            show_table(rows, columns)
    click.echo("", color=False)
    for note in answer["assumptions"]:
        click.echo(f"note: {note}", color=False)
