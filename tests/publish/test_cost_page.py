"""The page of cost, and the SQL functions that answer the same."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import urlencode

import pytest

from rackfit.ask.cost import cost_one, cost_question

ASKED = {"model": "qwen3-8b", "on": "rtx-4090", "kwh_price": "0.30", "hosted_price": "5", "discount_rate": "0.1"}


def test_page_says_what_every_figure_is(get):
    """Offers with date and source, owned hours with their parts, what was assumed, and a form with the inputs."""
    text = get("/cost?" + urlencode(ASKED)).text
    for word in ("Per million tokens", "Rented", "Owned", "Capital per hour", "Beats renting from", "Assumed",
                 "estimates with their range", "per million hosted tokens", "8760 hours"):  # fmt: skip
        assert word in text
    for name, value in ASKED.items():
        assert f'name="{name}" value="{value}"' in text


def test_page_json_csv_sql_and_python_agree(get, connection, sql):
    """The same answer whatever the way."""
    figures = {name: float(ASKED[name]) for name in ("kwh_price", "hosted_price", "discount_rate")}
    answer = cost_one(connection, cost_question(model="qwen3-8b", on="rtx-4090", **figures))
    body = get("/cost.json?" + urlencode(ASKED)).json()
    rows = list(csv.DictReader(io.StringIO(get("/cost.csv?" + urlencode(ASKED)).text)))
    assert body == json.loads(json.dumps(answer))
    rented = [row for row in rows if row["way"] == "rented"]
    assert float(rented[0]["price_per_hour"]) == answer["offers"][0]["price_per_hour"]
    assert float(rented[0]["per_million_likely"]) == answer["offers"][0]["per_million"][0]["likely"]
    assert {row["figure"] for row in rows if row["per_million_likely"]} == {"estimate"}
    assert {row["currency"] for row in rows} == {"USD"}
    again = json.loads(sql("select cost_json('qwen3-8b', 'rtx-4090')"))
    assert again["offers"][0]["price_per_hour"] == answer["offers"][0]["price_per_hour"]


def test_functions_of_money(get, sql):
    """3.60 an hour at 1000 tokens/s is 1 per million, half used 2; 35,040 over 4 years and 1 kW at 0.2 x 1.5 is 1.3."""
    assert sql("select cost_per_million_tokens(3.6, 1000)") == pytest.approx(1.0)
    assert sql("select cost_per_million_tokens(3.6, 1000, 0.5)") == pytest.approx(2.0)
    assert sql("select owned_hour(35040, 4, 1000, 0.2, 1.5)") == pytest.approx(1.3)
    assert sql("select break_even_utilisation(1.0, 2.0)") == pytest.approx(0.5)


@pytest.mark.parametrize(
    "call",
    ["cost_per_million_tokens(null, 10)", "cost_per_million_tokens(1, null)", "owned_hour(1, 2, null, 0.1)",
     "owned_hour(null, 2, 3, 0.1)", "break_even_utilisation(1, null)", "break_even_utilisation(1, 0.5, 0.5)",
     "cost_json(null, 'rtx-4090')"],
)  # fmt: skip
def test_no_price_no_figure(get, call, sql):
    """What is unknown stays unknown."""
    assert sql(f"select {call}") is None


def test_a_bad_figure_in_sql_is_explained(get):
    """The function says what it expected."""
    page = get("/catalog.json?" + urlencode({"sql": "select cost_per_million_tokens(0, 10)"}))
    assert page.status_code == 400
    assert "price_per_hour" in page.text


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"model": "no-such-model", "on": "rtx-4090"}, 404), ({"model": "qwen3-8b"}, 400),
        ({**ASKED, "utilisation": "2"}, 400), ({**ASKED, "kwh_price": "much"}, 400),
        ({**ASKED, "term": "spott"}, 404), ({**ASKED, "provider": "Runpodd"}, 404), ({**ASKED, "date": "soon"}, 400),
        ({**ASKED, "currency": "euro"}, 400), ({**ASKED, "model": "x" * 300}, 400),
    ],
)  # fmt: skip
def test_bad_parameters_keep_the_form(get, said, status):
    """400 for what cannot be read, 404 for an unknown name with near ones, and the form as it was."""
    page = get("/cost?" + urlencode(said))
    assert page.status_code == status
    assert get("/cost.json?" + urlencode(said)).status_code == status
    assert get("/cost.csv?" + urlencode(said)).status_code == status
    assert 'action="/cost"' in page.text
    assert "Traceback" not in page.text


def test_near_names_are_links(get):
    """A slip is one click from the answer."""
    assert "provider=RunPod" in get("/cost?" + urlencode({**ASKED, "provider": "Runpodd"})).text


def test_empty_page_asks(get):
    """Without a question there is a form and no complaint."""
    page = get("/cost")
    assert page.status_code == 200
    assert "Ask" in page.text
    assert get("/cost.json").status_code == 400
