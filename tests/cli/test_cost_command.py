"""`rackfit cost`: table and JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rackfit.cli.app import cli


def _run(catalog: Path, *words: str) -> Any:
    return CliRunner().invoke(cli, ["cost", *words, "--catalog", str(catalog)])


def test_table_for_people(catalog: Path) -> None:
    """Rented, owned, per million, against hosted, and every input."""
    result = _run(catalog, "Qwen3-8B", "--on", "rtx-4090", "--kwh-price", "0.3", "--hosted-price", "5")
    assert result.exit_code == 0
    for words in ("rented, USD", "owned, USD", "per million tokens", "beats 5 USD", "life_years 4", "kwh_price 0.3"):
        assert words in result.output


def test_json_for_programs(catalog: Path) -> None:
    """One document with offers, owned rows, inputs and what is missing."""
    result = _run(catalog, "Qwen3-8B", "--on", "rtx-4090", "--term", "any", "--json")
    body = json.loads(result.output)
    assert {"offers", "owned", "speeds", "inputs", "missing", "assumptions"} <= set(body)
    assert body["inputs"]["term"] is None


def test_a_stated_price_replaces_the_offers(catalog: Path) -> None:
    """A price of one's own is the only row, in the currency that is stated."""
    words = ("Qwen3-8B", "--on", "rtx-4090", "--price", "0.5", "--currency", "EUR", "--json")
    body = json.loads(_run(catalog, *words).output)
    (offer,) = body["offers"]
    assert (offer["price_per_hour"], offer["currency"], offer["basis"]) == (0.5, "EUR", "stated")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--price", "0"), 2), (("--utilisation", "1.2"), 2), (("--provider", "Runpodd"), 2), (("--pue", "nan"), 2),
        (("--price-date", "soon"), 2), (("--currency", "EURO"), 2),
    ],
)  # fmt: skip
def test_slips_are_wrong_usage(catalog: Path, words: tuple[str, ...], status: int) -> None:
    """Exit status 2 and one line."""
    from rackfit.cli.failures import run

    assert run(cli, ["cost", "Qwen3-8B", "--on", "rtx-4090", *words, "--catalog", str(catalog)]) == status
