"""The rows of a plan as a table for files, with what each column means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rackfit.tabular.table import Column, Kind, Table, distinct, header

_I: Kind = "integer"
_N: Kind = "number"
_S: Kind = "string"

MEANINGS: tuple[tuple[str, Kind, str, str], ...] = (
    ("configuration", _S, "", "Id of the configuration, for `rackfit fit` and `rackfit speed --on`"),
    ("label", _S, "", "The configuration in words, with its copies"),
    ("copies", _I, "", "Copies of the configuration side by side, each with the whole model"),
    ("devices", _I, "", "Accelerators of all copies"),
    ("nodes", _I, "", "Machines of all copies"),
    ("accelerator", _S, "", "Id of the accelerator"),
    ("precision", _S, "", "Format of the weights"),
    ("precision_support", _S, "", "How the engine runs that format there: native, weight_only, emulated, unknown"),
    ("kv_precision", _S, "", "Format of the cache"),
    ("runtime", _S, "", "Engine"),
    ("tp", _I, "", "Tensor parallel degree"),
    ("pp", _I, "", "Pipeline stages"),
    ("ep", _I, "", "Devices that experts are spread over"),
    ("dp", _I, "", "Replicas inside one copy (of attention alone where experts are spread)"),
    ("verdict", _S, "", "By memory at that load: fits, or tight where only the likely estimate is within the limit"),
    ("sequences", _I, "", "Sequences at the same time that were asked for, over all copies"),
    ("sequences_each", _I, "", "Sequences of one copy"),
    ("memory_sequences", _I, "", "Most sequences of one copy by memory, by the high estimate; empty: no limit"),
    ("memory_sequences_likely", _I, "", "The same by the likely estimate"),
    ("latency_sequences", _I, "", "Most sequences of one copy that keep the speed asked for, by the low end"),
    ("latency_sequences_likely", _I, "", "The same by the likely estimate"),
    ("limit", _S, "", "Which of the two limits is the smaller: memory or latency"),
    ("engine_sequences", _I, "", "Sequences that the engine runs at a time unless told otherwise, one copy"),
    ("figure", _S, "", "What the figures of speed are: estimates, each with a range; bounds are columns of their own"),
    ("tokens_per_s_each", _N, "tokens/s", "Of each sequence while all decode, likely"),
    ("tokens_per_s_each_low", _N, "tokens/s", "The same, low end of the range"),
    ("tokens_per_s_each_high", _N, "tokens/s", "The same, high end"),
    ("tokens_per_s_each_bound", _N, "tokens/s", "The same, bound by printed rates, which nothing passes"),
    ("tokens_per_s_served", _N, "tokens/s", "The same, likely, with the prompts of all sequences charged"),
    ("tokens_per_s_served_low", _N, "tokens/s", "The same, low end"),
    ("tokens_per_s", _N, "tokens/s", "Of all sequences together at that load, likely; prompts charged where asked"),
    ("tokens_per_s_low", _N, "tokens/s", "The same, low end"),
    ("step_bound_by", _S, "", "Largest part of the time of a decode step"),
    ("ttft_s", _N, "s", "Until the first token of a prompt on a replica that does nothing else, likely"),
    ("ttft_s_low", _N, "s", "The same, soonest"),
    ("ttft_s_high", _N, "s", "The same, latest: what is promised"),
    ("wide", _S, "", "Whether the low end of the speed lies more than 35 % below the estimate"),
    ("efficiency_id", _S, "", "Efficiency record behind the speed"),
    ("range_reasons", _S, "", "What was not measured, so that the range is wider, and what was assumed"),
    ("memory_bytes_summed", _I, "bytes", "Memory of all devices, for the order; never a limit"),
    ("accelerator_w", _N, "W", "Power limits (TDP) of all accelerators together"),
    ("system_w", _N, "W", "Most that the most frugal system of that shape draws, where one is on record"),
    ("tokens_per_s_per_w", _N, "", "Tokens per second per watt of the accelerators at that load, likely"),
    ("tokens_per_s_per_w_low", _N, "", "The same, low end"),
    ("price", _N, "", "Lowest price of all copies, per hour or to buy, in `currency`; empty: none on record"),
    ("currency", _S, "", "Currency of the price"),
    ("price_date", "date", "", "Date of the price"),
    ("price_provider", _S, "", "Provider of the offer"),
    ("price_product", _S, "", "Product of the offer"),
    ("price_region", _S, "", "Region of the offer"),
    ("price_term", _S, "", "Term of the offer"),
    ("price_tier", _S, "", "Tier of the offer"),
    ("price_basis", _S, "", "How the price of the product became that of one copy"),
    ("offer_id", _I, "", "Offer behind the price"),
    ("price_per_million_tokens", _N, "", "Of a million tokens at that load, without pause, likely; by the hour only"),
    ("price_per_million_tokens_low", _N, "", "The same at the low end of the speed: the most it costs"),
    ("tokens_per_s_per_price", _N, "", "Tokens per second per unit of the price at that load, likely"),
    ("tokens_per_s_per_price_low", _N, "", "The same, low end"),
)  # fmt: skip
"""Columns of a row: name, kind, unit, meaning."""

COLUMNS = distinct(
    [Column(name, header(name, unit or None), words, unit or None, kind) for name, kind, unit, words in MEANINGS]
)


def cells(row: dict[str, Any]) -> list[Any]:
    """Return the cells of a row in the order of the columns; lists as text."""
    return [_plain(row[column.name]) for column in COLUMNS]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(value) if isinstance(value, list) else value


def as_table(answer: dict[str, Any], notes: Sequence[tuple[str, Any]] = ()) -> Table:
    """Return the results of a plan as a table; what was asked and assumed, and what is ruled out, are its notes."""
    said = [
        *((f"asked: {name}", _plain(value)) for name, value in answer["query"].items()),
        *(("assumed", line) for line in answer["assumptions"]),
        *((f"ruled out: {row['requirement']}", row["configurations"]) for row in answer["ruled_out"]),
        ("met", answer["counts"]["met"]),
        ("met, without a price", answer["counts"]["met_without_price"]),
    ]
    rows = [cells(row) for row in answer["results"]]
    return Table(f"plan-{answer['query']['model'].replace('/', '-')}", COLUMNS, rows, (*said, *notes))
