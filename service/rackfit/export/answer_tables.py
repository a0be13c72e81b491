"""The tables of answers, which stand in no catalog, and the columns of each: all that the field guide describes."""

from __future__ import annotations

from rackfit.export import answers, cost_table, plan_table, quote_table, tender_table

ANSWER_TABLES: dict[str, tuple[str, ...]] = {
    answers.NAME: tuple(answers.KINDS),
    cost_table.NAME: tuple(cost_table.KINDS),
    plan_table.NAME: tuple(plan_table.KINDS),
    quote_table.NAME: quote_table.COLUMNS,
    tender_table.NAME: tuple(tender_table.KINDS),
}
"""Table -> its columns, as `records/fields/` describes them under that name."""
