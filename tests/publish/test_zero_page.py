"""The page of ZeRO's stages: the chapter's table for any model, and the paper's own table."""

from __future__ import annotations

import csv
import io
from urllib.parse import urlencode

import pytest

LLAMA_70B = 70_553_706_496
"""Parameters of Llama-3.1-70B: the safetensors total of its repository."""


def test_the_chapters_formulas(get):
    """Stages 1 to 3 take 4 + 12/N, 2 + 14/N and 16/N bytes; stage 3 sends half as much again (seed chapter, ZeRO)."""
    body = get("/zero.json?" + urlencode({"model": "llama-3.1-70b", "devices": 64})).json()

    assert [row["formula"] for row in body["stages"]] == ["16", "4 + 12/N", "2 + 14/N", "16/N"]
    assert [row["communication"] for row in body["stages"]] == [1, 1, 1, 1.5]
    assert body["stages"][3]["reduction"] == pytest.approx(64)
    assert body["stages"][3]["bytes_per_device"] == pytest.approx(LLAMA_70B * 16 / 64)


def test_fewest_devices(get):
    """70B x 16 bytes are 1.13 TB: 15 devices of 80 GB fully divided, no number at stage 1 (seed chapter)."""
    rows = list(csv.DictReader(io.StringIO(get("/zero.csv?model=llama-3.1-70b").text)))

    assert [row["fewest_devices"] for row in rows] == ["", "", "", "15"]


def test_the_papers_table(get):
    """Table 1 of arXiv 1910.02054, as printed, is on the page."""
    page = get("/zero").text

    for figure in ("31.4", "16.6", "1.88", "896", "704", "512", "4,750", "2,875", "62.5", "15.6"):
        assert f">{figure}</td>" in page


def test_another_recipe(get):
    """16 bytes become 8 with bf16 states throughout: 2 + 2 + 4."""
    body = get("/zero.json?" + urlencode({"model": "llama-3.1-8b", "recipe": "adamw_pure_bf16", "devices": 8})).json()

    assert body["bytes_per_parameter"] == 8
    assert body["stages"][1]["formula"] == "4 + 4/N"


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"model": "llama-3.1-7b"}, 404, "did you mean"),
        ({"model": "llama-3.1-8b", "devices": "many"}, 400, "devices"),
        ({"model": "llama-3.1-8b", "devices": "0"}, 400, "from 1"),
        ({"model": "llama-3.1-8b", "devices": "99999999"}, 400, "from 1 to 1,048,576"),
        ({"model": "llama-3.1-8b", "recipe": "adam_of_old"}, 404, "adam_of_old"),
        ({"model": "llama-3.1-8b", "recipe": "qlora"}, 400, "adapters"),
        ({"model": "x" * 500}, 400, "at most"),
        ({"devices": "8"}, 400, "name a model"),
    ],
)
def test_bad_parameters(get, said, status, words):
    """One clear line on the page and in JSON, and the form is kept."""
    page, body = get("/zero?" + urlencode(said)), get("/zero.json?" + urlencode(said))

    assert (page.status_code, body.status_code) == (status, status)
    assert words in page.text or words in body.json()["error"]
    assert "Traceback" not in page.text


@pytest.mark.parametrize("recipe", ["adam_mixed_16", "adamw_pure_bf16", "adam8bit_bnb_bf16"])
def test_the_named_query_agrees(get, recipe):
    """The query that people run in SQL gives the figures of the page."""
    said = {"model": "llama-3.1-8b", "devices": 24, "recipe": recipe}
    page = get("/zero.json?" + urlencode(said)).json()["stages"]
    rows = get("/catalog/zero_stages_of_a_model.json?" + urlencode({"_shape": "array", **said})).json()

    assert [row["bytes_per_parameter"] for row in rows] == [
        pytest.approx(row["bytes_per_parameter"], abs=1e-4) for row in page
    ]
    assert [row["partitioned"] for row in rows] == [row["partitioned"] for row in page]
    assert [row["communication_relative"] for row in rows] == [row["communication"] for row in page]
