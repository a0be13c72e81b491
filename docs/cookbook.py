"""docs/cookbook.md: questions in SQL. The queries are the named queries of the site, the answers those of a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from asked import Asked

SITE = "http://127.0.0.1:8001"
ROWS = 5
"""Rows of an answer that are shown."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A question, the named query that answers it, its parameters as a query string, and the columns to show."""

    question: str
    slug: str
    columns: str = ""
    asked: str | None = None

    @property
    def query(self) -> Any:
        """Return the named query."""
        from rackfit.publish import named_queries

        return named_queries.read()[self.slug]

    @property
    def parameters(self) -> str:
        """Return the query string that is asked: the query's own example where the recipe has none."""
        return self.query.example if self.asked is None else self.asked


RECIPES = (
    Recipe("Where does gpt-oss-120b fit, smallest first?", "where_a_model_fits",
           "device_count configuration_id precision_id verdict total_bytes margin_bytes max_context"),
    Recipe("What runs on two RTX 3090?", "what_runs_on_a_device"),
    Recipe("Which models fit one 24 GB card of NVIDIA, and in which format?", "models_that_fit_one_24_gb_card"),
    Recipe("What fits on a p5.48xlarge?", "what_fits_on_a_system"),
    Recipe("Which configuration holds Qwen3-32B for the least per hour?", "cheapest_configuration_for_a_model",
           "lowest_usd_per_hour configuration_id precision_id verdict max_context max_sequences_8k"),
    Recipe("What do the weights of Qwen3-30B-A3B take in every format?", "weights_in_every_format"),
    Recipe("What does one more token cost each Gemma, and 128K of them?", "kv_bytes_per_token"),
    Recipe("Who gains from an FP8 cache on a 4090 at 32K and four users?",
           "who_gains_and_who_loses_with_an_fp8_cache"),
    Recipe("Which models fit 8 H100 only in the format they were released in?", "native_format_fits_16_bit_does_not"),
    Recipe("Which mixtures need far more memory than their active parameters suggest?",
           "mixtures_need_all_their_experts"),
    Recipe("Who runs MXFP4, and does it compute in it or only store it?", "who_runs_a_format",
           "runtime_id vendor architecture support version_from kernel"),
    Recipe("Which FP8 figures in large print are sparse?", "dense_and_sparse_rates"),
    Recipe("How much of the label does the driver report?", "label_against_driver_memory",
           "accelerator_id memory_gb fit_memory_bytes fit_memory_rule percent_of_label_as_gib"),
    Recipe("How fast is NVLink in one direction?", "link_speeds",
           "interconnect_id per_direction_gb_s total_gb_s measured_gb_s measured_what"),
    Recipe("Which consumer cards give the most bandwidth per watt?", "devices_by_bandwidth_per_watt",
           "accelerator_id memory_gb memory_bandwidth_gb_s tdp_w gb_s_per_watt"),
    Recipe("What does an H100 cost per hour, where, and since when?", "hourly_prices_per_device",
           "price_per_device currency device_count provider tier term region valid_from"),
    Recipe("What does each ZeRO stage leave on one of 64 devices that train a 70B?", "zero_stages_of_a_model"),
    Recipe("Where are the estimates of weights worst?", "worst_estimates",
           "case_id quantity measured_value estimate unit error_percent model_id"),
    Recipe("Which facts about accelerators are disputed, and why was the other figure not taken?",
           "records_with_a_dispute", "key field other_value reason"),
    Recipe("Which facts were looked for and not found?", "what_nobody_knows", "table_name field records"),
    Recipe("On what class of source do the facts rest?", "sources_by_class"),
)  # fmt: skip
"""In the order of learning: fits, memory, formats, hardware, prices, training, and how far the facts can be trusted."""


def answer(recipe: Recipe, asked: Asked) -> list[dict[str, Any]]:
    """Return the rows of today's answer.

    Raises:
        NoAnswer: the query does not answer.
    """
    address = f"/catalog/{recipe.slug}" + (f"?{recipe.parameters}" if recipe.parameters else "")
    return list(asked.data(address)["rows"])


def document(asked: Asked) -> str:
    """Return every question with its SQL and today's answer, as Markdown."""
    lines = [
        "# SQL cookbook",
        "",
        "Written by `python docs/generate.py --answers` from the named queries and a catalog. Do not edit.",
        "",
        "Each query stands on the site under its own address, where its parameters are a form, and `rackfit export`",
        "writes the whole answer to a file; here are the first rows. Any other SELECT: `rackfit sql`, or the box of",
        "the site. Tables and columns are in [data-dictionary.md](data-dictionary.md); sizes are bytes.",
        "",
    ]
    for number, recipe in enumerate(RECIPES, start=1):
        lines += _section(number, recipe, answer(recipe, asked))
    return "\n".join(lines)


def _section(number: int, recipe: Recipe, rows: list[dict[str, Any]]) -> list[str]:
    parameters = parse_qsl(recipe.parameters)
    address = f"/catalog/{recipe.slug}" + (f"?{recipe.parameters}" if parameters else "")
    command = " ".join(["rackfit export", recipe.slug, *(f"-p {name} {value}" for name, value in parameters)])
    return [
        f"## {number}. {recipe.question}",
        "",
        recipe.query.description,
        "",
        f"[{address}]({SITE}{address}) · `{command} -o {recipe.slug}.csv`",
        "",
        "```sql",
        recipe.query.sql,
        "```",
        "",
        *_table(rows, recipe.columns.split()),
        "",
    ]


def _table(rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    names = columns or list(rows[0])
    shown = [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows[:ROWS]]
    left = len(rows) - ROWS
    more = ["", f"and {left} more {'row' if left == 1 else 'rows'}."] if left > 0 else []
    return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}", *shown, *more]


def _cell(value: Any) -> str:
    if isinstance(value, dict):  # a foreign key with its label
        value = value["value"]
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)
    return " ".join(text.split()).replace("|", "&#124;")
