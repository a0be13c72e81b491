"""Which offer is a price of which configuration."""

from __future__ import annotations

from typing import Any

import pytest

from rackfit.money.offers import Choice, Offer, Wanted, apply, current, term_class


def _offer(**changes: Any) -> Offer:
    base: dict[str, Any] = {
        "offer_id": 1, "kind": "hourly", "accelerator_id": "h100", "device_count": 8, "price": 24.0,
        "currency": "USD", "valid_from": "2026-09-19", "provider": "A", "product": "8x", "term": "on-demand",
        "tier": "standard",
    }  # fmt: skip
    return Offer(**{**base, **changes})


def _price(offer: Offer, *wanted: Any) -> float | None:
    applied = apply(offer, Wanted("h100", *wanted))
    return None if applied is None else applied.price


def test_a_machine_is_bought_whole() -> None:
    """A node of eight is the price of eight, of two machines of eight twice that, and of nothing else."""
    assert [_price(_offer(), *one) for one in [(8,), (8, 2), (4,), (16,), (1,)]] == [24.0, 48.0, None, None, None]


def test_one_device_is_no_node() -> None:
    """A price of one device is not scaled to a node unless it is printed per device."""
    single = _offer(device_count=1, price=3.0)
    assert _price(single, 1) == 3.0
    assert _price(single, 8) is None
    assert _price(single._replace(quantity_basis="per GPU"), 8) == 24.0


def test_a_minimum_is_kept() -> None:
    """A cluster price with a minimum applies from that number of devices on, by the device."""
    cluster = _offer(device_count=256, price=768.0, minimum_devices=256)
    assert _price(cluster, 8) is None
    assert _price(cluster, 8, 32) == 768.0
    assert _price(cluster, 8, 64) == 1536.0


def test_cards_come_without_a_host() -> None:
    """A purchase of cards says that nothing else is in the price."""
    cards = _offer(kind="purchase", device_count=1, price=1600.0, quantity_basis="per card")
    applied = apply(cards, Wanted("h100", 2))
    assert applied is not None
    assert (applied.price, applied.price_per_device) == (3200.0, 1600.0)
    assert "no host" in applied.basis


def test_memory_sizes_are_apart() -> None:
    """A chip that is sold with several sizes of memory has the price of the machine with that size only."""
    small = _offer(device_count=1, system_ram_gb=36)
    assert apply(small, Wanted("h100", 1, 1, 128)) is None
    assert apply(small, Wanted("h100", 1, 1, 36)) is not None
    assert apply(small._replace(system_ram_gb=None), Wanted("h100", 1, 1, 36)) is None


def test_of_a_series_the_newest_counts() -> None:
    """An old price of the same thing is no offer any more; on a day in the past it was (trial R133)."""
    old, new = _offer(price=20.0, valid_from="2025-01-08"), _offer(offer_id=2)
    assert current([old, new]) == [new]
    assert current([old, new], "2026-01-01") == [old]
    assert current([old, new], "2024-01-01") == []
    assert current([old, _offer(offer_id=3, tier="community")]) != [old]


def test_a_quote_that_has_run_out_is_none() -> None:
    """valid_until is the last day."""
    quote = _offer(valid_until="2026-10-31")
    assert current([quote], "2026-10-31") == [quote]
    assert current([quote], "2026-11-01") == []
    assert current([quote._replace(valid_until="2026-10")], "2026-10-31") != []


@pytest.mark.parametrize(
    ("changes", "choice", "counts"),
    [
        ({}, Choice(), True),
        ({"flag": "price of zero"}, Choice(), False),
        ({"flag": "price of zero"}, Choice(flagged=True), True),
        ({"term": "spot"}, Choice(), False),
        ({"term": "preemptible"}, Choice(term="spot"), True),
        ({"term": "reserved 3y"}, Choice(term="reserved"), True),
        ({"term": "reserved 3y"}, Choice(term="reserved 1y"), False),
        ({"term": "spot"}, Choice(term=None), True),
        ({"currency": "EUR"}, Choice(), False),
        ({"tier": "government"}, Choice(), False),
        ({"tier": "government"}, Choice(tier="Government"), True),
        ({"region": "WestUS3"}, Choice(region="westus3"), True),
        ({"provider": "B"}, Choice(provider="a"), False),
        ({"valid_from": "2024-12"}, Choice(since="2025-01-01"), False),
        ({"kind": "purchase"}, Choice(), False),
    ],
)
def test_what_counts(changes: dict[str, Any], choice: Choice, counts: bool) -> None:
    """Flagged, spot, foreign and restricted prices count only where they are asked for."""
    assert choice.allows(_offer(**changes)) is counts


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("On-Demand", "on-demand"), ("low-priority", "spot"), ("committed 3y", "reserved"),
        ("capacity block", "reserved"), ("31-90 days", "reserved"), ("1 month minimum", "reserved"),
        ("DWS flex-start", "other"), ("quote", "other"),
    ],
)  # fmt: skip
def test_terms_have_classes(term: str, found: str) -> None:
    """Every way of writing a commitment is one of four."""
    assert term_class(term) == found
