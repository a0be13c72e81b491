"""Machines side by side: the figures are those of fit, speed and prices, each machine by its own record."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from rackfit.ask.compare import USUAL_MODELS, compare_machines
from rackfit.ask.fit import fit_one
from rackfit.ask.machines import find_machines
from rackfit.ask.prices import machine_offers, read_choice
from rackfit.ask.question import FitQuestion
from rackfit.ask.speed import speed_one
from rackfit.errors import AmbiguousNameError, RackfitError, UnknownNameError, UsageError


def compare(connection: sqlite3.Connection, hardware: list[str], models: list[str], **asked: Any) -> dict[str, Any]:
    """Return the comparison; it is JSON whatever was asked."""
    answer = compare_machines(connection, hardware, models, FitQuestion(**asked), read_choice(connection))
    json.dumps(answer, allow_nan=False)
    return answer


def test_cells_are_the_answers_of_fit_and_speed(connection: sqlite3.Connection) -> None:
    """Each cell, asked alone in its format, has the same figures."""
    hardware = ["2x rtx-3090", "rtx-6000-ada", "8x h100-sxm5-80gb"]
    answer = compare(connection, hardware, ["llama-3.1-70b", "gpt-oss-20b"], context=8192)

    for row in answer["models"]:
        for name, cell in zip(hardware, row["cells"], strict=True):
            asked = FitQuestion(model=row["model"], on=name, precision=cell["precision"], context=8192)
            fitted = fit_one(connection, asked, suggest=False)
            assert (cell["verdict"], cell["max_context"]) == (fitted["verdict"], fitted["max_context"])
            assert cell["margin_bytes"] == fitted["per_device"]["margin_bytes"]
            decode = speed_one(connection, asked)["decode"][0]
            assert (cell["tokens_per_s"], cell["tokens_per_s_low"]) == (decode["tokens_per_s"], decode["low"])
            assert cell["figure"] == "estimate"
            assert cell["tokens_per_s_low"] < cell["tokens_per_s"] <= cell["tokens_per_s_bound"] * 1.001


def test_a_model_has_the_widest_format_that_fits(connection: sqlite3.Connection) -> None:
    """A 70B of 141 GB in 16 bits: whole on eight cards of 80 GB, in four bits on two of 24; on one in none."""
    answer = compare(connection, ["8x a100-sxm4-80gb", "2x rtx-3090", "rtx-3090"], ["llama-3.1-70b"], context=4096)
    wide, narrow, none = answer["models"][0]["cells"]

    assert (wide["precision"], wide["verdict"]) == ("bf16", "fits")
    assert narrow["precision"] != "bf16"
    assert narrow["verdict"] in ("fits", "tight")
    assert none["verdict"] == "no"
    assert none["margin_bytes"] < 0
    assert none["tokens_per_s"] is None
    assert "too much" in none["notes"][0]


def test_facts_come_from_the_records(connection: sqlite3.Connection) -> None:
    """Bandwidth of the data sheets: M3 Ultra 819, GB10 273 GB/s (Apple, NVIDIA); link and watts of the DGX."""
    ultra, spark, dgx = compare(connection, ["m3-ultra-512gb", "2x gb10", "dgx-h100"], ["qwen3-8b"])["machines"]

    assert (ultra["bandwidth_gb_s"], spark["bandwidth_gb_s"]) == (819, 273)
    assert (spark["devices"], dgx["devices"]) == (2, 8)
    assert dgx["link_gb_s"] == 450
    assert dgx["system_w"] == 10200
    assert ultra["system_w"] is None


def test_prices_are_those_of_the_machine(connection: sqlite3.Connection) -> None:
    """The lowest offer of each, with provider and date; without one, blank."""
    choice = read_choice(connection)
    answer = compare(connection, ["8x h100-sxm5-80gb", "3x gtx-1080-ti"], ["qwen3-8b"])
    priced, without = answer["machines"]
    offers = machine_offers(connection, find_machines(connection, "8x h100-sxm5-80gb")[0], choice)

    assert priced["price_per_hour"] == offers[0].price
    assert priced["price_provider"] and priced["price_date"]
    assert answer["models"][0]["cells"][0]["price_per_million_tokens"] > 0
    assert (without["price_per_hour"], without["currency"]) == (None, None)
    assert answer["models"][0]["cells"][1]["price_per_million_tokens"] is None


def test_unlike_cards_slices_and_usual_models(connection: sqlite3.Connection) -> None:
    """Every hardware expression is a machine; without models, some that many people ask for."""
    answer = compare(connection, ["1x rtx-3090 + 1x rtx-3070", "a100-sxm4-80gb/3g.40gb"], [])

    assert [row["model"] for row in answer["models"]] == list(USUAL_MODELS)
    mixed, slice_ = answer["machines"]
    assert mixed["memory_bytes"] > mixed["device_memory_bytes"]
    assert mixed["accelerator_w"] == 350 + 220
    assert slice_["price_per_hour"] is None


def test_a_slice_has_its_part_of_the_device(connection: sqlite3.Connection) -> None:
    """3g.40gb has 4 of 8 memory slices (NVIDIA, MIG user guide): half of 2039 GB/s, and no power of its own."""
    slice_ = compare(connection, ["a100-sxm4-80gb/3g.40gb", "l4"], ["qwen3-8b"])["machines"][0]
    assert slice_["bandwidth_gb_s"] == pytest.approx(2039 / 2, rel=0.03)
    assert slice_["bf16_tflops"] == pytest.approx(312 / 2, rel=0.03)
    assert slice_["accelerator_w"] is None


@pytest.mark.parametrize(
    ("hardware", "models", "error"),
    [
        (["rtx-3090"], [], UsageError), (["rtx-3090", "rtx-3090"], [], UsageError),
        (["rtx-3090"] + [f"{n}x l4" for n in (1, 2, 3, 4, 5)], [], UsageError),
        (["rtx-3090", "rtx-309"], [], UnknownNameError), (["rtx-3090", "m3-max"], [], AmbiguousNameError),
        (["rtx-3090", "l4"], ["lama"], RackfitError), (["rtx-3090", "l4"], ["qwen3-8b"] * 13, UsageError),
    ],
)  # fmt: skip
def test_wrong_questions_are_refused(
    connection: sqlite3.Connection, hardware: list[str], models: list[str], error: type[Exception]
) -> None:
    """Too few, too many, unknown, or several at once."""
    with pytest.raises(error):
        compare(connection, hardware, models)
