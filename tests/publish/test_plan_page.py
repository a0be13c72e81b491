"""The page of plans: the answer of the command, as page, JSON and CSV; bad questions; links that ask further."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from rackfit.ask.plan.answer import plan
from rackfit.ask.plan.question import PlanQuestion

ASKED = {"model": "llama-3.1-70b", "users": "50", "context": "8k", "tokens_per_second": "15", "limit": "4"}
QUESTION = PlanQuestion("llama-3.1-70b", users=50, context=8192, tokens_per_second=15.0, limit=4)


def test_the_form_without_a_question(get):
    """Nothing asked is no error."""
    page = get("/plan")

    assert page.status_code == 200
    assert "Which machines?" in page.text
    for name in ("users", "concurrency", "ttft", "budget", "power_limit", "replicas", "provider", "precision"):
        assert f'name="{name}"' in page.text


def test_page_json_csv_and_python_agree(get, connection):
    """The same answer whatever the way."""
    answer = plan(connection, QUESTION)
    body = get("/plan.json?" + urlencode(ASKED)).json()
    rows = list(csv.DictReader(io.StringIO(get("/plan.csv?" + urlencode(ASKED)).text)))

    assert body == json.loads(json.dumps(answer))
    assert [row["configuration"] for row in rows] == [row["configuration"] for row in answer["results"]]
    assert {row["figure"] for row in rows} == {"estimate"}
    assert all(row["efficiency_id"] and row["tokens_per_s_each_bound"] for row in rows)


def test_the_page_says_what_every_figure_is(get):
    """Both limits, promised and likely; what is ruled out; prices with their offers; the form kept."""
    text = get("/plan?" + urlencode(ASKED)).text
    for words in ("Sequences by memory", "By latency", "speeds are estimates", "Ruled out", "Assumed", "Cheapest",
                  "no price on record", "every user has a request running", "not released"):  # fmt: skip
        assert words in text
    for name, value in ASKED.items():
        assert f'name="{name}" value="{value}"' in text
    assert "/catalog/offers/" in text


def test_each_speed_leads_to_its_bound_and_assumptions(get, connection):
    """One click: the same configuration, layout and load on /speed has the same figure."""
    row = plan(connection, QUESTION)["results"][0]
    text = get("/plan?" + urlencode(ASKED)).text
    address = html.unescape(re.search(r'href="(/speed\?[^"]+)"', text)[1])
    asked = parse_qs(urlsplit(address).query)

    assert asked["on"] == [row["configuration"]]
    said = get(address.replace("/speed?", "/speed.json?")).json()["speed"]
    found = [one for one in said["decode"] if one["sequences"] == row["sequences_each"]]
    assert found[0]["per_sequence_low"] == row["tokens_per_s_each_low"]
    assert said["assumptions"]
    fit = html.unescape(re.search(r'href="(/why\?[^"]+)"', text)[1])
    assert get(fit).status_code == 200


def test_the_purchase_list_counts_the_offers_that_the_plan_counted(get):
    """The link to /quote keeps what was said of offers: provider and date too."""
    words = {"provider": "RunPod", "since": "2025-01-01", "term": "any"}
    text = get("/plan?" + urlencode({"model": "qwen3-8b", "limit": "2", **words})).text
    address = html.unescape(re.search(r'href="(/quote\?models=[^"]+)"', text)[1])
    asked = parse_qs(urlsplit(address).query)

    assert {name: asked[name] for name in words} == {name: [said] for name, said in words.items()}


def test_nothing_that_meets_it_leads_to_what_would(get):
    """Each requirement links to the question with it relaxed, which has an answer."""
    page = get("/plan?" + urlencode({**ASKED, "tokens_per_second": "500"}))
    assert page.status_code == 200
    assert "Nothing meets it" in page.text
    part = page.text[page.text.index('id="relax"') : page.text.index('id="ruled-out"')]
    hrefs = [html.unescape(found) for found in re.findall(r'href="(/plan\?[^"]+)"', part)]
    assert hrefs
    for href in hrefs:
        assert get(href.replace("/plan?", "/plan.json?")).json()["counts"]["met"] > 0


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"users": "5"}, 400), ({**ASKED, "model": "lama-3.1-70b"}, 404), ({**ASKED, "users": "many"}, 400),
        ({**ASKED, "concurrency": "2"}, 400), ({**ASKED, "by": "size"}, 400), ({**ASKED, "pay": "barter"}, 400),
        ({**ASKED, "accelerators": "h1000"}, 404), ({**ASKED, "vendors": "Nvidea"}, 404),
        ({**ASKED, "provider": "Amazn"}, 404), ({**ASKED, "workload": "x" * 300}, 400),
        ({**ASKED, "budget": "inf"}, 400), ({**ASKED, "date": "soon"}, 400),
    ],
)  # fmt: skip
def test_bad_parameters_keep_the_form(get, said, status):
    """400 for what cannot be read, 404 for an unknown name with near ones, and the form as it was."""
    page = get("/plan?" + urlencode(said))
    assert page.status_code == status
    assert get("/plan.json?" + urlencode(said)).status_code == status
    assert get("/plan.csv?" + urlencode(said)).status_code == status
    assert 'action="/plan"' in page.text
    if status == 404:
        assert "Try " in page.text


def test_names_of_devices_and_makers_are_lists(get):
    """Commas between; only those are looked at."""
    body = get("/plan.json?" + urlencode({**ASKED, "accelerators": "h100-sxm5-80gb, h200-sxm-141gb"})).json()

    assert body["results"]
    assert {row["accelerator"] for row in body["results"]} <= {"nvidia-h100-sxm5-80gb", "nvidia-h200-sxm-141gb"}


def test_the_function_in_sql_answers_the_same(get, connection):
    """plan_json with what the command takes most; a figure that means nothing is explained."""

    def sql(text):
        return get("/catalog.json?" + urlencode({"_shape": "arrays", "sql": text}))

    (row,) = sql("select plan_json('llama-3.1-70b', 8192, 50, 15)").json()["rows"]
    answer = plan(connection, replace(QUESTION, limit=10))
    assert json.loads(row[0])["results"] == json.loads(json.dumps(answer))["results"]
    assert sql("select plan_json(null)").json()["rows"] == [[None]]
    assert sql("select plan_json('llama-3.1-70b', 8192, 50, 'fast')").status_code == 400


def test_functions_of_speed_say_estimate_low_end_and_bound(get):
    """Three functions with one signature, as the command has them."""
    asked = "('llama-3.1-8b', 'h100-sxm5-80gb', null, 1024)"
    names = ("tokens_per_s_low", "tokens_per_s", "tokens_per_s_bound")
    text = "select " + ", ".join(name + asked for name in names)
    ((low, likely, bound),) = get("/catalog.json?" + urlencode({"_shape": "arrays", "sql": text})).json()["rows"]
    assert low < likely < bound < 3350 / 15
