"""Public reports of prices that were wrong, lost or taken for others: the kind of fault, by report (trials.csv).

Figures are those of the report that each test is named after.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rackfit.ask.lists import where_it_runs
from rackfit.ask.machines import find_machines
from rackfit.ask.prices import machine_offers, read_choice
from rackfit.ask.question import FitQuestion
from rackfit.assemble import build
from rackfit.catalog.connect import open_catalog
from rackfit.errors import BadRecordsError
from rackfit.records.load import read_library

HEADER = (
    "kind,provider,product,accelerator_id,device_count,price,currency,region,term,tier,price_kind,valid_from,"
    "valid_until,includes,source,confidence\n"
)
CARD = "nvidia-rtx-4090"
TWO_TIERS = (
    "hourly,RunPod,2x card,nvidia-rtx-4090,2,0.98,USD,US,on-demand,community,list,2024-10-23,,,{source},high\n"
    "hourly,RunPod,2x card,nvidia-rtx-4090,2,1.52,USD,US,on-demand,secure,list,2024-10-23,,,{source},high\n"
)
"""R059: RunPod 2x RTX A6000 on demand in two tiers."""
THREE_TERMS = (
    "hourly,RunPod,1x card,nvidia-rtx-4090,1,0.44,USD,US,on-demand,secure,list,2025-03-07,,,{source},high\n"
    "hourly,RunPod,1x card,nvidia-rtx-4090,1,0.49,USD,US,spot,secure,list,2025-03-07,,,{source},high\n"
)
"""R057: RunPod A40, billed 0.49 as spot, 0.44 on demand."""
HOST_AND_ALL = (
    "hourly,GCP,a2-highgpu-1g,nvidia-h100-sxm5-80gb,1,0.94,USD,us-central1,on-demand,standard,list,2023-06-05,,"
    "host only,{source},high\n"
    "hourly,GCP,a2-highgpu-1g,nvidia-h100-sxm5-80gb,1,4.05,USD,us-central1,on-demand,standard,list,2023-06-06,,"
    "whole instance,{source},high\n"
)
"""R055: GCP a2-highgpu-1g, the host alone and the instance with its accelerator."""
ENDED = "hourly,GCP,node,amd-mi300x,8,40.00,USD,us-east1,on-demand,standard,list,2024-01-01,2024-06-30,,{source},high\n"
"""R133: an instance that was withdrawn."""


def _with_prices(data: Path, text: str) -> None:
    source = read_library([data]).rows["offers"][0].source
    for path in (data / "prices").glob("*.csv"):
        path.unlink()
    (data / "prices/own.csv").write_text(HEADER + text.format(source=source))


@pytest.fixture(scope="module")
def priced(small_data_master: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A small catalog with the prices of the reports."""
    import shutil

    folder = tmp_path_factory.mktemp("trials")
    data = Path(shutil.copytree(small_data_master, folder / "data"))
    _with_prices(data, TWO_TIERS + THREE_TERMS + HOST_AND_ALL + ENDED)
    build(folder / "catalog.db", [data], must_exist=False)
    with closing(open_catalog(folder / "catalog.db")) as connection:
        yield connection


def _lowest(connection: sqlite3.Connection, hardware: str, **asked: str) -> float | None:
    (machine,) = find_machines(connection, hardware)
    found = machine_offers(connection, machine, read_choice(connection, **asked))
    return found[0].price if found else None


def test_r055_a_host_is_no_price_of_its_accelerator(priced: sqlite3.Connection) -> None:
    """The row of the host alone is flagged, says what is included, and the offer that a buyer sees is 4.05."""
    assert _lowest(priced, "1x h100-sxm5-80gb") == pytest.approx(4.05, rel=0.01)
    flag = priced.execute("select flag from offers where price = 0.94").fetchone()[0]
    assert flag == "price of the host without its accelerators"


def test_r055_a_host_is_known_by_its_price(small_data: Path) -> None:
    """Where nothing says that it is the host alone, an on-demand price far below the spot price does (2.20 there)."""
    from rackfit.catalog.rows.offers import rows

    text = HOST_AND_ALL.splitlines(keepends=True)[0].replace("host only", "")
    spot = text.replace("0.94", "2.204").replace("on-demand", "spot")
    _with_prices(small_data, text + spot)
    flags = {row["price"]: row["flag"] for _, row in rows(read_library([small_data]))}
    assert flags[0.94] is not None
    assert "without its accelerators" in flags[0.94]


def test_r057_spot_above_on_demand_is_flagged(priced: sqlite3.Connection) -> None:
    """The billed spot price is kept and flagged, and no answer takes it silently."""
    flag = priced.execute("select flag from offers where price = 0.49").fetchone()[0]
    assert flag == "spot price above the on-demand price"
    assert _lowest(priced, f"1x {CARD}") == pytest.approx(0.44)
    assert _lowest(priced, f"1x {CARD}", term="spot") is None


def test_r059_a_price_limit_acts_on_the_tier_that_is_used(priced: sqlite3.Connection) -> None:
    """At most 1 USD: the community offer of 0.98 is one, the secure one of 1.52 is not; the answer names the tier."""

    def found(tier: str | None) -> list[tuple[float, str]]:
        question = FitQuestion(model="mistral-7b-v0.1", max_price=1.0, limit=500)
        rows = where_it_runs(priced, question, read_choice(priced, tier=tier))
        return [(row["price_per_hour"], row["price_tier"]) for row in rows if row["hardware"] == f"2x-{CARD}"]

    assert found("community") == [(0.98, "community")]
    assert found("secure") == []
    assert found(None) == [(0.98, "community")]


def test_r061_regions_without_case_and_prices_that_are_not_there(priced: sqlite3.Connection) -> None:
    """A region is found however it is written; a configuration without a price has none, not zero."""
    assert _lowest(priced, f"1x {CARD}", region="us") == _lowest(priced, f"1x {CARD}", region="US")
    assert _lowest(priced, f"8x {CARD}") is None


def test_r063_one_offer_twice_stops_the_build(small_data: Path) -> None:
    """Two prices of the same thing on the same day: both are named."""
    row = HOST_AND_ALL.splitlines(keepends=True)[1]
    _with_prices(small_data, row + row.replace("4.05", "3.67"))
    with pytest.raises(BadRecordsError) as raised:
        read_library([small_data])
    assert "4.05 USD" in str(raised.value)
    assert "3.67 USD" in str(raised.value)


def test_r133_a_withdrawn_offer_has_its_price_in_the_past(priced: sqlite3.Connection) -> None:
    """On a day on which it held the price is there; today it is not."""
    assert _lowest(priced, "8x mi300x", date="2024-03-01") == pytest.approx(40.0)
    assert _lowest(priced, "8x mi300x", date="2024-07-01") is None
    assert _lowest(priced, "8x mi300x") is None
