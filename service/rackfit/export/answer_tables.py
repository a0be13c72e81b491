"""The tables of answers, which stand in no catalog, and the columns of each: all that the field guide describes."""

from __future__ import annotations

from rackfit.export import answers, cost_table, plan_table, quote_table, side_by_side, tender_table
from rackfit.export.page_tables import PAGE_TABLES

ANSWER_TABLES: dict[str, tuple[str, ...]] = {
    answers.NAME: tuple(answers.KINDS),
    cost_table.NAME: tuple(cost_table.KINDS),
    plan_table.NAME: tuple(plan_table.KINDS),
    quote_table.NAME: quote_table.COLUMNS,
    side_by_side.NAME: tuple(side_by_side.KINDS),
    tender_table.NAME: tuple(tender_table.KINDS),
    **{name: tuple(kinds) for name, kinds in PAGE_TABLES.items()},
}
"""Table -> its columns, as `records/fields/` describes them under that name."""
