"""Watts, heat, weight and racks of machines: what records say, what was measured, what follows for a site."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from typing import Any

from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.watts import accelerators_w
from rackfit.catalog.read import row_of, rows_of
from rackfit.errors import AmbiguousNameError, UsageError

BTU_PER_WATT_HOUR = 3.412142
"""International table BTU per hour of one watt (NIST SP 811, appendix B.8)."""
RACK_UNITS = 42
CAPPED_MODE = "power-capped"
"""Mode of measurements whose accelerators were held below their own limit."""
SYSTEM_FACTS = (
    "system_id", "name", "max_power_w", "typical_power_w", "psu_count", "psu_w", "rack_units", "weight_kg", "cooling",
    "operating_temp_min_c", "operating_temp_max_c",
)  # fmt: skip
SYSTEMS = """
select {columns} from systems
where accelerator_id = ? and accelerator_count = ?
  and (max_power_w is not null or rack_units is not null or weight_kg is not null)
order by max_power_w is null, max_power_w, system_id
"""
MEASURED = """
select system_name, submitter, mode, cooling, nodes, count(*) as tests, min(lowest_w) as lowest_w,
    round(max(load_mean_w)) as load_mean_w, max(p95_w) as p95_w, max(peak_w) as peak_w, max(date) as date,
    min(source_id) as source_id
from system_power where accelerator_id = ? and accelerators_per_node = ?
group by system_name, submitter, mode, cooling, nodes order by peak_w desc
"""
CAPPED = """
select measurements.case_id, measurements.gpu, measurements.gpu_count, estimates.model_id, estimates.precision_id,
    estimates.measured_value as tokens_per_s, estimates.estimate as estimate_tokens_per_s, measurements.source_url
from measurements join estimates using (case_id)
where estimates.accelerator_id = ? and measurements.kind = 'K7' and measurements.gpu like '%W limit%'
order by measurements.case_id
"""


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """What a user asks. None means that the user did not say."""

    on: str
    devices: int | None = None
    """Accelerators in all; whole machines are counted."""
    machines: int | None = None
    rack_units: int = RACK_UNITS
    rack_kw: float | None = None
    """What one rack may draw."""
    rack_kg: float | None = None
    """What one rack may carry."""
    pue: float = 1.0
    psu_w: float | None = None
    """Supply of one machine, for what it leaves beside the accelerators."""

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the first figure, its value and what was expected.
        """
        for name in ("devices", "machines", "rack_units"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 10**7:
                raise UsageError(f"{name} = {value}: expected a whole number from 1")
        for name in ("rack_kw", "rack_kg", "psu_w"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise UsageError(f"{name} = {value}: expected a number above 0")
        if not 1 <= self.pue <= 10:
            raise UsageError(f"pue = {self.pue}: expected a number from 1")
        if self.devices is not None and self.machines is not None:
            raise UsageError("devices and machines: expected one of them")


def power_one(connection: sqlite3.Connection, question: PowerQuestion) -> dict[str, Any]:
    """Return what machines draw, weigh and take of racks. None: not on record, and nothing follows from it.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
    """
    question.check()
    machines = find_machines(connection, question.on)
    if len(machines) > 1:
        raise AmbiguousNameError("hardware", question.on, tuple(one.shown for one in machines))
    machine = machines[0]
    each = machine.devices // machine.nodes
    accelerator = machine.device.accelerator_id
    whole = not machine.others and not machine.sliced
    system, alike = _system(connection, machine), _alike(connection, accelerator, each, machine) if whole else []
    measured = rows_of(connection, MEASURED, accelerator, each) if whole else []
    total = accelerators_w(connection, machine)
    accelerator_w = None if total is None else total / machine.nodes
    watts, basis = _machine_watts(system, alike, measured, accelerator_w)
    count = _count(question, machine, each)
    return {
        "hardware": machine.shown,
        "accelerator": accelerator,
        "devices_each": each,
        "machines": count,
        "devices": count * each,
        "accelerator_w": accelerator_w,
        "machine_w": watts,
        "machine_w_basis": basis,
        "system": system,
        "alike": alike,
        "measured": measured,
        "capped": rows_of(connection, CAPPED, accelerator) if whole else [],
        "site": _site(question, count, watts, system),
        "racks": _racks(question, count, watts, system),
        "psu": _psu(question, accelerator_w),
        "assumptions": _assumptions(question, machine, system),
    }


def _system(connection: sqlite3.Connection, machine: Machine) -> dict[str, Any] | None:
    """Return the facts of the system that was named."""
    if machine.system_id is None:
        return None
    row = row_of(connection, "systems", "system_id", machine.system_id)
    return {name: row[name] for name in SYSTEM_FACTS}


def _alike(connection: sqlite3.Connection, accelerator: str, each: int, machine: Machine) -> list[dict[str, Any]]:
    """Return the systems with the same accelerators of which something is on record, the most frugal first."""
    found = rows_of(connection, SYSTEMS.format(columns=", ".join(SYSTEM_FACTS)), accelerator, each)
    return [row for row in found if row["system_id"] != machine.system_id]


def _machine_watts(
    system: dict[str, Any] | None,
    alike: list[dict[str, Any]],
    measured: list[dict[str, Any]],
    accelerator_w: float | None,
) -> tuple[float | None, str]:
    """Return what one machine draws at most, and where that comes from."""
    if system is not None and system["max_power_w"] is not None:
        return system["max_power_w"], "the system's own maximum"
    known = [row for row in alike if row["max_power_w"] is not None]
    if known:
        most = max(known, key=lambda row: row["max_power_w"])
        return most["max_power_w"], f"the most of {len(known)} systems with these accelerators ({most['system_id']})"
    free = [row for row in measured if row["nodes"] == 1 and row["mode"] != CAPPED_MODE]
    if free:
        return free[0]["peak_w"], f"highest peak at the wall of such a machine ({free[0]['system_name']})"
    if accelerator_w is None:
        return None, "not on record"
    return accelerator_w, "accelerators alone, no host on record: at least this"


def _count(question: PowerQuestion, machine: Machine, each: int) -> int:
    """Return the machines: as stated, as many as hold the devices, else those of the expression."""
    if question.machines is not None:
        return question.machines
    return machine.nodes if question.devices is None else -(-question.devices // each)


def _site(
    question: PowerQuestion, count: int, watts: float | None, system: dict[str, Any] | None
) -> dict[str, float | None]:
    """Return the sums over all machines: kW, heat, energy of a day at full draw, weight, rack units."""

    def times(value: float | None) -> float | None:
        return None if value is None else round(value * count, 3)

    kilowatts = None if watts is None else watts * count / 1000
    return {
        "it_kw": kilowatts and round(kilowatts, 3),
        "facility_kw": kilowatts and round(kilowatts * question.pue, 3),
        "heat_btu_per_hour": kilowatts and round(kilowatts * 1000 * BTU_PER_WATT_HOUR),
        "kwh_per_day": kilowatts and round(kilowatts * question.pue * 24, 1),
        "weight_kg": times(system["weight_kg"] if system else None),
        "rack_units": times(system["rack_units"] if system else None),
    }


def _racks(
    question: PowerQuestion, count: int, watts: float | None, system: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return how many machines go into a rack, what binds, and the racks of all; None where nothing is on record."""
    limits = {}
    if system is not None and system["rack_units"]:
        limits["height"] = math.floor(question.rack_units / system["rack_units"])
    if question.rack_kw is not None and watts:
        limits["power"] = math.floor(question.rack_kw * 1000 / watts + 1e-9)
    if question.rack_kg is not None and system is not None and system["weight_kg"]:
        limits["weight"] = math.floor(question.rack_kg / system["weight_kg"] + 1e-9)
    if not limits:
        return None
    binds = min(limits, key=lambda name: limits[name])
    per_rack = limits[binds]
    filled = min(per_rack, count)
    return {
        "per_rack": per_rack,
        "limit": binds,
        "limits": limits,
        "racks": -(-count // per_rack) if per_rack else None,
        "kw_per_rack": round(filled * watts / 1000, 3) if watts and per_rack else None,
        "kg_per_rack": round(filled * system["weight_kg"], 1) if system and system["weight_kg"] and per_rack else None,
    }


def _psu(question: PowerQuestion, accelerator_w: float | None) -> dict[str, float] | None:
    """Return what a supply leaves for the host beside the power limits of the accelerators."""
    if question.psu_w is None or accelerator_w is None:
        return None
    return {
        "psu_w": question.psu_w,
        "accelerator_w": accelerator_w,
        "left_w": round(question.psu_w - accelerator_w, 3),
        "load_share": round(accelerator_w / question.psu_w, 4),
    }


def _assumptions(question: PowerQuestion, machine: Machine, system: dict[str, Any] | None) -> list[str]:
    notes = ["accelerators: the power limit of each (TDP) times their number"]
    if machine.sliced:
        notes = ["a MIG slice has no power limit of its own on record: ask for the whole device"]
    if question.pue != 1:
        notes.append(f"facility: IT power times a PUE of {question.pue:g}")
    if question.psu_w is not None:
        notes.append("supply: processor, fans and drives come on top; short peaks above a limit are on no record")
    if system is None and machine.system_id is None:
        notes.append("no system was named: height, weight and cooling are those of the systems listed, if any")
    notes.append(f"rack: {question.rack_units} U; switches and distribution in it are not counted")
    notes.append("heat: all power becomes heat, 3.412 BTU per hour and watt")
    return notes
