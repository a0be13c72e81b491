"""Names that complete what is typed into the forms of questions: models, hardware, formats, engines, recipes."""

from __future__ import annotations

from typing import Any

from rackfit.publish.pages.fields import RECIPES, Field, Group

QUERIES = {
    "models": "select model_id from models order by model_id",
    "hardware": "select accelerator_id from accelerators where status = 'released' union select system_id from systems "
    "where accelerator_id is not null order by 1",
    "precisions": "select precision_id from precisions where use = 'weight' order by precision_id",
    "caches": "select substr(precision_id, 4) from precisions where use = 'kv' order by precision_id",
    "runtimes": "select distinct runtime_id from runtime_budgets order by runtime_id",
    "recipes": "select recipe_id from recipes where section = 'recipe' order by recipe_id",
}
"""List -> the names in it."""


async def lists(database: Any, *forms: tuple[Group, ...]) -> dict[str, list[str]]:
    """Return the lists that the fields of some forms are completed from; each is read once per catalog."""
    kept: dict[str, list[str]] = database.__dict__.setdefault("_rackfit_names", {})
    wanted = {field.known for form in forms for group in form for field in group.fields if field.known}
    for name in sorted(wanted - set(kept)):
        found = [row[0] for row in (await database.execute(QUERIES[name])).rows]
        kept[name] = [*RECIPES, *(one for one in found if one not in RECIPES)] if name == "recipes" else found
    return {name: kept[name] for name in sorted(wanted)}


def filled(group: Group, form: Any) -> list[Field]:
    """Return the fields of a group that a form fills: a group that has any is shown open."""
    return [field for field in group.fields if getattr(form, field.name)]
