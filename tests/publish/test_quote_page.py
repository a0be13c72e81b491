"""/quote: a purchase list that can be looked at, printed and taken away."""

from __future__ import annotations

import csv
import io

import openpyxl
import pytest

ASKED = "models=qwen3-8b,gpt-oss-20b&on=nvidia-dgx-h100,2x+rtx-4090&context=16k&sequences=4"


def test_items_stand_side_by_side(get):
    """Heads, verdicts with their reason, prices with date and source, figures, and the files to take away."""
    page = get(f"/quote?{ASKED}")
    assert page.status_code == 200
    for text in (
        "DGX H100",
        "GeForce RTX 4090",
        "16,384 tokens of context, 4 sequences",
        "none on record",
        "confidence",
    ):
        assert text in page.text, text
    assert "/why?model=qwen%2Fqwen3-8b&amp;on=nvidia-dgx-h100&amp;context=16k&amp;sequences=4" in page.text
    for ending in ("xlsx", "csv", "json"):
        assert f"/quote.{ending}?models=" in page.text


def test_files_have_the_figures_of_the_json(get):
    """JSON, CSV, CSV with decimal comma and workbook say the same."""
    items = get(f"/quote.json?{ASKED}").json()["results"]
    plain = list(csv.DictReader(io.StringIO(get(f"/quote.csv?{ASKED}").text, newline="")))
    comma = get(f"/quote.csv?{ASKED}&_locale=comma").content.decode("utf-8-sig")
    german = list(csv.DictReader(io.StringIO(comma, newline=""), delimiter=";"))
    answer = get(f"/quote.xlsx?{ASKED}")
    assert answer.headers["content-disposition"].startswith('attachment; filename="rackfit-quote-')
    sheet = openpyxl.load_workbook(io.BytesIO(answer.content))["data"]
    heads = [cell.value for cell in sheet[1]]
    for place, item in enumerate(items):
        cells = dict(zip(heads, (cell.value for cell in sheet[place + 2]), strict=True))
        margin = item["fits"][0]["margin_gib"]
        assert cells["qwen3_8b_margin_gib"] == margin == float(plain[place]["qwen3_8b_margin_gib"])
        assert german[place]["qwen3_8b_margin_gib"] == str(margin).replace(".", ",")


def test_wishes_choose(get):
    """Without a machine the wishes choose; what nothing meets is a page that says so."""
    found = get("/quote.json?models=qwen3-32b&min_memory=90&max_devices=1&limit=3").json()["results"]
    assert found and all(item["memory_gb_per_device"] >= 90 and item["devices"] == 1 for item in found)
    none = get("/quote?models=qwen3-32b&max_price=0.0001")
    assert none.status_code == 200 and "No configuration on record meets" in none.text


@pytest.mark.parametrize(
    ("asked", "status", "text"),
    [
        ("models=qwen3-9b", 404, "unknown"),
        ("models=qwen3-8b&on=rtx-4091", 404, "unknown"),
        ("models=qwen3-8b&context=lots", 400, "context"),
        ("models=qwen3-8b&max_price=much", 400, "max_price"),
        ("models=qwen3-8b&limit=999", 400, "limit"),
        ("models=qwen3-8b&price_kind=weekly", 400, "price_kind"),
        ("vendor=nvidia", 400, "needs a model"),
        ("models=" + "x" * 1200, 400, "characters"),
    ],
)
def test_a_bad_question_keeps_the_form(get, asked, status, text):
    """400 or 404, the form as it was, and the same status for every format."""
    page = get(f"/quote?{asked}")
    assert page.status_code == status and text in page.text
    name, value = asked.split("&")[-1].split("=")
    assert value[:200] in page.text
    for ending in ("json", "csv", "xlsx"):
        answer = get(f"/quote.{ending}?{asked}")
        assert answer.status_code == status and text in answer.text, (name, ending)


def test_near_names_ask_again(get):
    """A near name keeps the rest of the question."""
    page = get("/quote?models=qwen3-8b,qwen3-9b&on=rtx-4090")
    assert page.status_code == 404 and "on=rtx-4090" in page.text and "models=qwen3-8b%2C" in page.text


def test_pages_lead_here(get):
    """Pages of models, devices, systems and comparisons lead to the list; the form waits for what is missing."""
    for path, link in (
        ("/model/qwen/qwen3-8b", "/quote?models=qwen/qwen3-8b"),
        ("/hardware/nvidia-rtx-4090", "/quote?on=nvidia-rtx-4090"),
        ("/system/nvidia-dgx-h100", "/quote?on=nvidia-dgx-h100"),
        ("/compare?items=rtx-4090,rtx-3090", "/quote?on=nvidia-rtx-4090%2Cnvidia-rtx-3090"),
        ("/plan?model=qwen3-8b&limit=3&context=16k", "/quote?models=qwen%2Fqwen3-8b&amp;on="),
    ):
        assert link in get(path).text
    waiting = get("/quote?on=rtx-4090")
    assert waiting.status_code == 200 and "Name the models" in waiting.text
    assert get("/quote").status_code == 200
