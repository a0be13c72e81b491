"""/system/<system>: what is in it, what it needs around it, what fits on it, what it costs."""

from __future__ import annotations

from typing import Any

from rackfit.ask import facts
from rackfit.catalog.read import rows_of
from rackfit.publish.answers import Answers
from rackfit.publish.pages.fitting import what_fits
from rackfit.publish.pages.hardware import MOST_FITS
from rackfit.publish.pages.record import RecordPage, answer, offers

SHAPE = """
select configurations.* from configuration_systems join configurations using (configuration_id) where system_id = ?
"""
SIBLINGS = """
select other.system_id, other.name, other.provider, other.accelerator_count
from systems join systems as other on other.accelerator_id = systems.accelerator_id
where systems.system_id = ? and other.system_id <> systems.system_id
order by abs(other.accelerator_count - systems.accelerator_count), other.name limit 12
"""


def read(answers: Answers, key: str) -> dict[str, Any]:
    """Return everything that is said of one system."""
    record = facts.record(answers.connection, "system", key)
    known = {fact["field"]: fact["value"] for fact in record["facts"]}
    shapes = rows_of(answers.connection, SHAPE, key)
    shape = shapes[0] if shapes else None
    device = rows_of(
        answers.connection, "select * from accelerators where accelerator_id = ?", known["accelerator_id"]
    )[0]
    return {
        **record,
        "known": known,
        "device": {
            name: device[name] for name in ("accelerator_id", "name", "memory_gb", "memory_bandwidth_gb_s", "tdp_w")
        },
        "configuration": shape,
        "fits": what_fits(answers, shape["configuration_id"] if shape else None),
        "siblings": rows_of(answers.connection, SIBLINGS, key),
        "offers": offers(answers, "system_id = ?", key),
    }


def _show(urls: Any, database: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"fits": found["fits"][:MOST_FITS], "all_fits": len(found["fits"])}


PAGE = RecordPage("system", "rackfit_system.html", read, _show)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /system/<name> and /system/<name>.json."""
    return await answer(request, datasette, PAGE)
