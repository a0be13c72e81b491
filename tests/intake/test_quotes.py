"""A buyer's own prices: files as spreadsheets save them, and everything that is wrong with them at once."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rackfit.cli.prices import TEMPLATE
from rackfit.errors import BadRowsError, UsageError
from rackfit.intake.quotes import Quotes, read_quotes

TRIALS = Path(__file__).parents[1] / "reference/trials"
HEADER = "kind,accelerator,device_count,price,currency,provider,term,valid_from\n"
GOOD = "hourly,h100-sxm5-80gb,8,23.50,USD,Example Cloud,on-demand,2026-11-01\n"


def _read(connection: sqlite3.Connection, text: str, **defaults: str | None) -> Quotes:
    return read_quotes(connection, text, "quotes.csv", "local-quotes", defaults)


def _facts(quotes: Quotes, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(offer, name) for name in names) for _, offer in quotes.offers]


def test_r125_a_file_saved_by_a_spreadsheet(connection: sqlite3.Connection) -> None:
    """Mark, semicolons, decimal commas, a day-first date: two rows, 1234.50 and 89.00 in euro (trial R125)."""
    text = (TRIALS / "R125.csv").read_text(encoding="utf-8")
    found = _read(connection, text, kind="purchase")
    assert _facts(found, "accelerator_id", "device_count", "price", "currency", "valid_from") == [
        ("nvidia-h100-sxm5-80gb", 8, Decimal("1234.50"), "EUR", "2026-03-01"),
        ("nvidia-l4", 1, Decimal("89.00"), "EUR", "2026-04-01"),
    ]


def test_r061_an_empty_price_is_unknown_and_reported(connection: sqlite3.Connection) -> None:
    """Rows of a cloud list: region in any case, price and spot price in one row, an empty price (trial R061)."""
    text = (
        "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region\n"
        "NC4as_T4_v3,T4,1,0.526,0.2,westus2\nNC4as_T4_v3,T4,1,,,WestUS3\nStandard_A4m_v2,,,0.238,,eastus\n"
    )
    found = _read(connection, text, kind="hourly", currency="USD", valid_from="2023-06-29", provider="Azure",
                  term="on-demand")  # fmt: skip
    assert _facts(found, "product", "price", "term", "region") == [
        ("NC4as_T4_v3", Decimal("0.526"), "on-demand", "westus2"),
        ("NC4as_T4_v3", Decimal("0.2"), "spot", "westus2"),
    ]
    assert found.left_out == (
        "quotes.csv:3: no Price: unknown, not zero", "quotes.csv:4: names no accelerator or system",
    )  # fmt: skip


def test_r061_rows_without_a_device_are_named(connection: sqlite3.Connection) -> None:
    """The file of the report holds machines without accelerators: nothing to price, every line said."""
    text = (TRIALS / "R061.csv").read_text(encoding="utf-8")
    found = _read(connection, text, kind="hourly", currency="USD", valid_from="2023-06-29", provider="Azure",
                  term="on-demand")  # fmt: skip
    assert found.offers == ()
    assert len(found.left_out) == 3


def test_r063_one_offer_twice_is_refused(connection: sqlite3.Connection) -> None:
    """Both rows are named (trial R063)."""
    with pytest.raises(BadRowsError) as raised:
        _read(connection, HEADER + GOOD + GOOD.replace("23.50", "30"))
    assert "quotes.csv:3: price = '30 USD'" in str(raised.value)
    assert "line 2 has 23.50 USD" in str(raised.value)


def test_the_template_can_be_imported(connection: sqlite3.Connection) -> None:
    """What `rackfit prices template` prints is read as it is."""
    assert [offer.kind for _, offer in _read(connection, TEMPLATE).offers] == ["hourly", "purchase"]


def test_a_system_says_its_devices(connection: sqlite3.Connection) -> None:
    """A row that names a system needs no accelerator and no count."""
    found = _read(connection, "kind,system,price_eur,valid_from\npurchase,nvidia-dgx-h100,300000,2026-11\n")
    assert _facts(found, "system_id", "accelerator_id", "device_count", "currency") == [
        ("nvidia-dgx-h100", "nvidia-h100-sxm5-80gb", 8, "EUR")
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("23.50", "free", "quotes.csv:2: price = 'free'"), ("23.50", "-1", "quotes.csv:2: price = '-1'"),
        ("23.50", "0", "a price above 0; leave it empty where it is not known"),
        (",8,", ",0,", "device_count = '0'"), (",8,", ",two,", "device_count = 'two'"),
        ("USD", "dollar", "currency = 'DOLLAR'"), ("2026-11-01", "11/01/2026", "valid_from = '11/01/2026'"),
        ("2026-11-01", "soon", "valid_from = 'soon'"), ("hourly", "daily", "kind = 'daily'"),
        ("on-demand", "", "an hourly offer with provider, product and term"),
        ("h100-sxm5-80gb", "h1000-sxm5", "accelerator = 'h1000-sxm5': expected a name of accelerators on record"),
        ("h100-sxm5-80gb", "A100", "expected one of nvidia-a100"),
        ("Example Cloud", "=cmd()", "provider = '=cmd()'"),
    ],
)  # fmt: skip
def test_a_bad_cell_is_named(connection: sqlite3.Connection, old: str, new: str, said: str) -> None:
    """File, line, heading, value and what was expected."""
    with pytest.raises(BadRowsError) as raised:
        _read(connection, HEADER + GOOD.replace(old, new, 1))
    assert said in str(raised.value)


def test_all_bad_cells_at_once(connection: sqlite3.Connection) -> None:
    """One run names everything."""
    rows = GOOD.replace("23.50", "free") + GOOD + GOOD.replace("USD", "XXX") + GOOD.replace(",2026-11-01", "")
    with pytest.raises(BadRowsError) as raised:
        _read(connection, HEADER + rows)
    places = [str(problem).split(": ")[0] for problem in raised.value.problems]
    assert places == ["quotes.csv:2", "quotes.csv:4", "quotes.csv:5"]
    assert "3 problems in quotes.csv, nothing was imported" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no header"), ("accelerator,price\nl4,1\n", "no column kind"),
        ("kind,accelerator,price\nhourly,l4,1\n", "no column currency"),
        ("kind,accelerator,price_eur\nhourly,l4,1\n", "no column valid_from"),
        ("kind,accelerator,currency,valid_from\nhourly,l4,USD,2026\n", "no column price"),
        ("kind,price_eur,valid_from\nhourly,1,2026\n", "no column accelerator or system"),
        ("kind,accelerator,slug,price_eur,valid_from\nhourly,l4,l4,1,2026\n", "are both accelerator_id"),
        ("kind;accelerator;price_eur;valid_from\npurchase;l4;1,50;2026\npurchase;l4;1.5;2025\n", "decimal comma"),
    ],
)  # fmt: skip
def test_a_bad_file_is_explained(connection: sqlite3.Connection, text: str, said: str) -> None:
    """A column that is missing, twice, or written in two ways."""
    with pytest.raises(UsageError, match=said):
        _read(connection, text)


def test_unknown_columns_are_named(connection: sqlite3.Connection) -> None:
    """Ignored, and said."""
    found = _read(connection, HEADER.replace("\n", ",colour\n") + GOOD.replace("\n", ",red\n"))
    assert "column 'colour' is not known and was ignored" in found.notes
