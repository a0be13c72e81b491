"""What fits on one stored configuration, by the rule of `ask.lists.what_runs` over the stored matrix."""

from __future__ import annotations

from typing import Any

from rackfit.ask.lists import COMFORTABLE_CONTEXT, COMFORTABLE_SHARE
from rackfit.catalog.read import rows_of
from rackfit.publish.answers import Answers

CELLS = """
with ranked as (
    select cells.model_key, cells.configuration_key, cells.precision_key, precisions.precision_id,
        row_number() over (
            partition by cells.model_key
            order by cells.verdict = 'fits' desc,
                coalesce(precisions.precision_id = models.native_precision_id, 0) desc,
                precisions.effective_bits desc, cells.margin_bytes
        ) as place
    from configurations
    cross join inference_cells as cells using (configuration_key)
    join fit_models using (model_key)
    join models on models.model_id = fit_models.model_id
    join fit_precisions using (precision_key)
    join precisions on precisions.precision_id = fit_precisions.precision_id
    where configurations.configuration_id = ? and cells.verdict in ('fits', 'tight')
      and models.kv_elems_per_token_full + models.kv_elems_per_token_windowed + models.recurrent_state_elems > 0
)
select models.model_id, models.name, models.params_total, models.params_active, models.release_date,
    models.max_context as limit_of_model, ranked.precision_id, precisions.effective_bits, cells.verdict,
    cells.total_bytes, cells.usable_bytes, cells.margin_bytes, cells.max_context, cells.max_sequences_8k,
    ranked.precision_id = models.native_precision_id as native
from ranked
cross join inference_cells as cells using (model_key, precision_key, configuration_key)
join fit_models using (model_key)
join models on models.model_id = fit_models.model_id
join precisions on precisions.precision_id = ranked.precision_id
where ranked.place = 1
"""
"""The best format of each model, found over the index alone: reading the rows of all formats takes longer."""


def comfortable(row: dict[str, Any]) -> bool:
    """Return whether a model runs with 5 % of memory free and 16K of context, or all it has."""
    enough = min(COMFORTABLE_CONTEXT, row["limit_of_model"] or COMFORTABLE_CONTEXT)
    longest = COMFORTABLE_CONTEXT if row["max_context"] is None else row["max_context"]
    free = row["margin_bytes"] >= COMFORTABLE_SHARE * row["usable_bytes"]
    return bool(row["verdict"] == "fits" and free and longest >= enough)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    date = row["release_date"] or "0000"
    half_year = int(date[:4]) * 2 + (date[5:7] > "06")
    return (not row["comfortable"], -half_year, -row["params_total"], row["model_id"])


def what_fits(answers: Answers, configuration_id: str | None) -> list[dict[str, Any]]:
    """Return the models that run on a configuration, each in one format, those that people want first."""
    if configuration_id is None:
        return []
    rows = rows_of(answers.connection, CELLS, configuration_id)
    return sorted(({**row, "comfortable": comfortable(row)} for row in rows), key=_order)
