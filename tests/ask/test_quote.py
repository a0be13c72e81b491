"""A purchase list: items that can be ordered, prices by record alone, a verdict for each model."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rackfit.ask.quote import QuoteQuestion, quote
from rackfit.errors import UnknownNameError, UsageError

SMALL = ("Qwen3-8B",)


def items(
    connection: sqlite3.Connection, *on: str, models: tuple[str, ...] = SMALL, **more: Any
) -> list[dict[str, Any]]:
    """Return the items for machines."""
    return quote(connection, QuoteQuestion(models=models, on=on, **more))["results"]


def test_a_system_is_ordered_as_a_system(connection: sqlite3.Connection) -> None:
    """A DGX H100: 8 devices, 8 rack units, 10.2 kW at most (NVIDIA DGX H100/H200 user guide); two have twice that."""
    (item,) = items(connection, "nvidia-dgx-h100", quantity=2)
    assert (item["part_name"], item["kind"], item["quantity"], item["devices"]) == ("DGX H100", "server", 2, 16)
    assert (item["rack_units"], item["rack_units_total"]) == (8, 16)
    assert (item["max_power_w"], item["max_power_w_total"]) == (10200, 20400)
    assert item["memory_gb_per_device"] == 80 and item["tdp_w_total"] == 16 * 700


def test_devices_are_ordered_as_devices(connection: sqlite3.Connection) -> None:
    """Eight H100 are eight cards of 80 GB and 3350 GB/s (NVIDIA data sheet); nothing is said of a host."""
    (item,) = items(connection, "8x h100-sxm5-80gb")
    assert (item["kind"], item["quantity"], item["devices_per_unit"]) == ("accelerator", 8, 1)
    assert item["memory_bandwidth_gb_s_total"] == 8 * 3350
    assert item["rack_units"] is None and item["host_ram_gb"] is None
    assert not set(item["unknown"]) & {"rack_units", "weight_kg", "cooling", "max_power_w"}


def test_unlike_devices_are_lines_of_their_own(connection: sqlite3.Connection) -> None:
    """One item per row: each card of a mixed machine is one, under one configuration and verdict, without a price."""
    rows = items(connection, "1x rtx-3090 + 2x rtx-3070")
    assert [(row["item"], row["configuration"], row["quantity"]) for row in rows] == [(1, 1, 1), (2, 1, 2)]
    assert rows[0]["verdict"] == rows[1]["verdict"]
    assert all(row["hourly_price_total"] is None and row["purchase_price_total"] is None for row in rows)


def test_prices_are_those_of_an_offer(connection: sqlite3.Connection) -> None:
    """Price, date, terms and source are those of one row of `offers`; unit and total follow from the quantity."""
    (item,) = items(connection, "4x rtx-4090", quantity=2)
    for kind in ("hourly", "purchase"):
        key = item[f"{kind}_offer_id"]
        if key is None:
            continue
        offer = dict(connection.execute("select * from offers where offer_id = ?", (key,)).fetchone())
        assert offer["accelerator_id"] == "nvidia-rtx-4090" and offer["kind"] == kind
        assert item[f"{kind}_price_date"] == offer["valid_from"] and item[f"{kind}_source_id"] == offer["source_id"]
        assert item[f"{kind}_price_total"] == pytest.approx(8 * offer["price_per_device"], abs=1e-5)
        assert item[f"{kind}_price_unit"] == pytest.approx(offer["price_per_device"], abs=1e-5)


def test_a_system_has_its_own_prices_alone(connection: sqlite3.Connection) -> None:
    """What eight of its cards cost is no price of a cloud instance, and a rent elsewhere none of a server: blank."""
    (instance,) = items(connection, "aws-p5-48xlarge")
    assert instance["hourly_provider"] == "AWS" and instance["hourly_product"] == "p5.48xlarge"
    assert instance["purchase_price_total"] is None and "purchase_price_total" in instance["unknown"]
    (server,) = items(connection, "nvidia-dgx-h100")
    assert server["hourly_price_total"] is None
    sold = connection.execute(
        "select system_id from offers where offer_id = ?", (server["purchase_offer_id"],)
    ).fetchone()
    assert sold is None or sold[0] == "nvidia-dgx-h100"


def test_a_class_is_every_candidate(connection: sqlite3.Connection) -> None:
    """`A100 80GB` is SXM and PCIe: both stand in the list, with their own prices."""
    rows = items(connection, "A100 80GB")
    assert {row["accelerator_id"] for row in rows} == {"nvidia-a100-sxm4-80gb", "nvidia-a100-pcie-80gb"}


def test_what_does_not_fit_says_what_would(connection: sqlite3.Connection) -> None:
    """A 32B model in BF16 takes 65 GB: no on a card of 24 GB, with a change that helps; the worst verdict leads."""
    (item,) = items(connection, "rtx-4090", models=("Qwen3-0.6B", "Qwen3-32B"))
    small, large = item["fits"]
    assert small["verdict"] == "fits" and large["verdict"] == item["verdict"] == "no"
    assert large["margin_gib"] < 0 and large["would_fit"] and large["decode_tokens_s"] is None
    assert small["decode_low_tokens_s"] <= small["decode_tokens_s"] <= small["decode_high_tokens_s"]
    assert small["decode_figure"] == "estimate" and small["decode_basis"]
    assert small["decode_tokens_s"] <= small["decode_bound_tokens_s"]


def test_wishes_choose_machines(connection: sqlite3.Connection) -> None:
    """Every chosen machine meets every wish, fits every model, and costs at most the price that it is shown with."""
    asked = QuoteQuestion(
        models=("Qwen3-32B", "gpt-oss-20b"), vendor="nvidia", min_memory=40, min_bandwidth=1000, max_power=1500,
        max_devices=2, max_price=5, limit=8,
    )  # fmt: skip
    found = quote(connection, asked)["results"]
    assert found
    for item in found:
        assert item["vendor"] == "NVIDIA" and item["memory_gb_per_device"] >= 40
        assert item["memory_bandwidth_gb_s"] >= 1000 and item["tdp_w_total"] <= 1500 and item["devices"] <= 2
        assert item["hourly_price_total"] <= 5 and item["hourly_currency"] == "USD"
        assert item["verdict"] in ("fits", "tight")


def test_shared_memory_counts_in_the_size_that_is_bought(connection: sqlite3.Connection) -> None:
    """A chip sold with several sizes is one item per size: a wish for 100 GB leaves the smaller ones out."""
    asked = QuoteQuestion(models=SMALL, segment="unified", min_memory=100, limit=10)
    found = quote(connection, asked)["results"]
    assert found and all(item["memory_gb_per_device"] >= 100 for item in found)
    (mac,) = items(connection, "m4-max 128gb")[:1]
    assert mac["memory_gb_per_device"] == 128


def test_a_slice_has_no_label(connection: sqlite3.Connection) -> None:
    """A MIG slice is no product: no label, no price, the memory that it has."""
    (item,) = items(connection, "a100-sxm4-80gb/3g.40gb")
    assert item["memory_gb_per_device"] is None and 35 < item["usable_gib_per_device"] < 40
    assert item["hourly_price_total"] is None and item["purchase_price_total"] is None
    whole = (
        "memory_bandwidth_gb_s",
        "memory_bandwidth_gb_s_total",
        "tdp_w",
        "tdp_w_total",
        "bf16_dense_tflops",
        "link",
    )
    assert [item[name] for name in whole] == [None] * len(whole)
    assert {"memory_gb_per_device", "memory_bandwidth_gb_s", "tdp_w"} <= set(item["unknown"])


def test_a_price_wish_acts_on_the_tier_that_is_shown(connection: sqlite3.Connection) -> None:
    """Trial R059: what was filtered by is what is billed: no item costs more than the limit in its own tier."""
    for tier in ("community", "secure"):
        found = quote(connection, QuoteQuestion(models=SMALL, max_price=1, tier=tier, limit=5))["results"]
        assert all(item["hourly_tier"] == tier and item["hourly_price_total"] <= 1 for item in found)


def test_nothing_meets_all_wishes(connection: sqlite3.Connection) -> None:
    """An empty list is an answer."""
    assert quote(connection, QuoteQuestion(models=SMALL, max_price=0.000001))["results"] == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"models": ()}, "needs a model"),
        ({"quantity": 0}, "quantity = 0"),
        ({"limit": 100}, "limit = 100"),
        ({"max_price": 0}, "max_price"),
        ({"price_kind": "monthly"}, "hourly or purchase"),
        ({"context": 0}, "context = 0"),
        ({"date": "yesterday"}, "2026-09-30"),
    ],
)
def test_questions_that_mean_nothing(connection: sqlite3.Connection, more: dict[str, Any], said: str) -> None:
    """One line names the figure and what was expected."""
    with pytest.raises(UsageError, match=said):
        quote(connection, QuoteQuestion(**{"models": SMALL, **more}))


@pytest.mark.parametrize(
    ("more", "near"),
    [
        ({"models": ("Qwen3-9B",)}, "qwen3-8b"), ({"on": ("rtx-4091",)}, "4090"), ({"vendor": "Nvidea"}, "NVIDIA"),
        ({"segment": "server"}, "datacenter"), ({"term": "onn-demand"}, "on-demand"),
    ],
)  # fmt: skip
def test_unknown_words_have_near_names(connection: sqlite3.Connection, more: dict[str, Any], near: str) -> None:
    """A word that nothing has is told from one that nothing happens to meet."""
    with pytest.raises(UnknownNameError) as raised:
        quote(connection, QuoteQuestion(**{"models": SMALL, **more}))
    assert near.casefold() in str(raised.value).casefold()
