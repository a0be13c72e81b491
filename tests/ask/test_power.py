"""Watts, heat, weight and racks: figures of data sheets, guides and measurements."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.power import PowerQuestion, power_one
from rackfit.errors import AmbiguousNameError, UnknownNameError, UsageError


def power(connection: sqlite3.Connection, on: str, **asked: Any) -> dict[str, Any]:
    """Return the answer; it is JSON whatever was asked."""
    answer = power_one(connection, PowerQuestion(on, **asked))
    json.dumps(answer, allow_nan=False)
    return answer


def test_four_dgx_h100_in_a_rack(connection: sqlite3.Connection) -> None:
    """4 per rack = 40.8 kW at 10.2 kW and 8 U each (unanswered.io, H100 density; NVIDIA DGX H100 data sheet)."""
    answer = power(connection, "dgx-h100", machines=4, rack_kw=41)

    assert (answer["machine_w"], answer["system"]["rack_units"]) == (10200, 8)
    assert (answer["racks"]["per_rack"], answer["racks"]["racks"]) == (4, 1)
    assert (answer["racks"]["kw_per_rack"], answer["site"]["it_kw"]) == (40.8, 40.8)
    assert answer["racks"]["limits"] == {"height": 5, "power": 4}
    assert power(connection, "dgx-h100", machines=4, rack_kw=31)["racks"]["racks"] == 2


def test_256_h100_draw_more_than_their_chips(connection: sqlite3.Connection) -> None:
    """256 x 700 W are 180 kW before any host (databank.com, colocation guide); 32 systems at their maximum are 326."""
    answer = power(connection, "dgx-h100", devices=256, pue=1.3)

    assert (answer["machines"], answer["devices"]) == (32, 256)
    assert answer["accelerator_w"] * 32 / 1000 == pytest.approx(179.2)
    assert answer["site"]["it_kw"] == pytest.approx(326.4)
    assert answer["site"]["facility_kw"] == pytest.approx(326.4 * 1.3)
    assert answer["site"]["heat_btu_per_hour"] == pytest.approx(326400 * 3.412142, abs=1)


def test_a_rack_that_is_one_system(connection: sqlite3.Connection) -> None:
    """A GB200 NVL72 fills its rack and is cooled by liquid (NVIDIA)."""
    answer = power(connection, "gb200-nvl72", rack_units=48)

    assert answer["racks"]["per_rack"] == 1
    assert answer["racks"]["kw_per_rack"] > 100
    assert answer["system"]["cooling"] in ("liquid", "hybrid")


def test_a_supply_of_1000_w_for_two_3090(connection: sqlite3.Connection) -> None:
    """2 x 350 W leave 300 W; 880 W were measured at the wall (AI-Workstation, issue 1): within the supply."""
    answer = power(connection, "2x rtx-3090", psu_w=1000)

    assert (answer["accelerator_w"], answer["psu"]["left_w"]) == (700, 300)
    assert answer["accelerator_w"] < 880 < 1000
    assert "at least" in answer["machine_w_basis"]
    assert answer["racks"] is None


def test_a_capped_measurement_is_no_maximum(connection: sqlite3.Connection) -> None:
    """Eight A100: MLPerf's 3.5 kW are of capped cards; the DGX may draw 6.5 kW (NVIDIA data sheet)."""
    answer = power(connection, "8x a100-sxm4-80gb")

    assert {row["mode"] for row in answer["measured"]} == {"power-capped"}
    assert answer["machine_w"] == 6500
    assert "nvidia-dgx-a100-640gb" in answer["machine_w_basis"]


def test_speeds_under_a_power_limit_are_listed(connection: sqlite3.Connection) -> None:
    """gpt-fast on A100s held to 330 of 400 W: 93.89 tokens/s of Llama-3.1-8B in bf16 (its README)."""
    rows = {row["case_id"]: row for row in power(connection, "8x a100-sxm4-80gb")["capped"]}

    assert rows["K7-0185"]["tokens_per_s"] == 93.89
    assert "330W" in rows["K7-0185"]["gpu"]
    assert all(row["source_url"] for row in rows.values())


def test_measured_at_the_wall(connection: sqlite3.Connection) -> None:
    """8 B200 in a Lenovo SR680a V3 peak at 11.8 kW (MLPerf Inference v5.1, power)."""
    rows = power(connection, "8x b200-sxm-180gb")["measured"]

    assert rows[0]["peak_w"] == 11837
    assert rows[0]["lowest_w"] < rows[0]["load_mean_w"] < rows[0]["p95_w"] < rows[0]["peak_w"]
    assert rows[0]["source_id"]


@pytest.mark.parametrize(
    ("on", "asked", "error"),
    [
        ("dgx-h1000", {}, UnknownNameError), ("a100", {}, AmbiguousNameError), ("l4", {"machines": 0}, UsageError),
        ("l4", {"pue": 0.5}, UsageError), ("l4", {"rack_kw": float("nan")}, UsageError),
        ("l4", {"devices": 8, "machines": 8}, UsageError),
    ],
)  # fmt: skip
def test_wrong_questions_are_refused(
    connection: sqlite3.Connection, on: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    """Naming what was wrong."""
    with pytest.raises(error):
        power(connection, on, **asked)


def test_unlike_cards_are_all_counted(connection: sqlite3.Connection) -> None:
    """450 W and 350 W by NVIDIA's product pages; what systems with one of the cards draw says nothing of both."""
    answer = power(connection, "1x rtx-4090 + 1x rtx-3090", psu_w=1000)
    assert (answer["devices"], answer["accelerator_w"], answer["psu"]["left_w"]) == (2, 800, 200)
    assert (answer["alike"], answer["measured"], answer["capped"]) == ([], [], [])
    both = power(connection, "2 nodes x 1x rtx-4090 + 1x rtx-3090")
    assert (both["machines"], both["devices"], both["accelerator_w"]) == (2, 4, 800)


def test_a_slice_has_no_power_on_record(connection: sqlite3.Connection) -> None:
    """The limit of the whole card is not that of a part of it, and nothing follows from it."""
    answer = power(connection, "a100-sxm4-80gb/2g.20gb", rack_kw=10)
    assert answer["accelerator_w"] is answer["machine_w"] is answer["site"]["it_kw"] is answer["racks"] is None
