"""The page of speed, and the SQL functions that answer the same."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import urlencode

import pytest

ASKED = {"model": "llama-3.1-70b", "on": "8x a100-pcie-80gb"}


def test_every_figure_says_what_it_is(get):
    """Bound, estimate and range stand beside one another, with what was assumed, and a picture of the memory."""
    text = get("/speed?" + urlencode(ASKED)).text

    for word in (
        "estimate",
        "Bound",
        "Range",
        "Assumed",
        "measured cases",
        "2 all-reduces",
        "two devices on one uplink",
    ):
        assert word in text
    assert 'class="rf-levels"' in text
    assert "times as fast as device memory" in text


def test_page_json_and_sql_agree(get, sql):
    """The same figures whatever the way: page data, CSV, SQL."""
    body = get("/speed.json?" + urlencode(ASKED)).json()
    row = next(row for row in body["scaling"] if (row["strategy"], row["degree"]) == ("TP", 8))
    listed = list(csv.DictReader(io.StringIO(get("/speed.csv?" + urlencode(ASKED)).text)))
    again = json.loads(sql("select scaling_json('llama-3.1-70b', '8x a100-pcie-80gb')"))

    assert 0.4 <= row["efficiency"] <= 0.6
    assert again == body["scaling"]
    assert [float(one["efficiency"]) for one in listed] == [pytest.approx(one["efficiency"]) for one in again]
    assert {one["figure"] for one in listed} == {"estimate"}
    speed = json.loads(sql("select speed_json('llama-3.1-70b', '8x a100-pcie-80gb')"))
    assert speed["decode"] == body["speed"]["decode"]
    assert sql("select tokens_per_s('llama-3.1-70b', '8x a100-pcie-80gb')") == speed["decode"][0]["tokens_per_s"]


def test_functions_answer_nothing_for_nothing(get, sql):
    """A join that found no model stays empty."""
    for call in ("speed_json(null, 'h100-sxm5-80gb')", "scaling_json('', 'x')", "attention_json(null, 'x')"):
        assert sql(f"select {call}") is None


def test_attention_in_sql(get, sql):
    """128K tokens of one head: 34.4 GB (seed chapter)."""
    found = json.loads(sql("select attention_json('qwen3-8b', 'h100-sxm5-80gb', 131072)"))

    assert found["layers"][0]["score_bytes_per_head"] == pytest.approx(34.4e9, rel=0.002)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"model": "no-such-model", "on": "h100-sxm5-80gb"}, 404),
        ({"model": "qwen3-8b"}, 400),
        ({"model": "qwen3-8b", "on": "h100-sxm5-80gb", "context": "many"}, 400),
        ({"model": "qwen3-8b", "on": "h100-sxm5-80gb", "degrees": "two"}, 400),
        ({"model": "x" * 300, "on": "h100-sxm5-80gb"}, 400),
    ],
)
def test_bad_parameters_keep_the_form(get, said, status):
    """400 for what cannot be read, 404 for an unknown name, with one clear line and the form as it was."""
    page = get("/speed?" + urlencode(said))

    assert page.status_code == status
    assert 'role="alert"' in page.text
    if len(said["model"]) < 200:
        assert f'value="{said["model"]}"' in page.text
    assert get("/speed.json?" + urlencode(said)).status_code == status


def test_the_empty_form(get):
    """Without a question, the form."""
    page = get("/speed")

    assert page.status_code == 200
    assert "How fast?" in page.text
