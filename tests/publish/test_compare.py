"""Two to five items side by side."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import pytest

from rackfit.ask.compare import compare_machines
from rackfit.ask.prices import read_choice
from rackfit.ask.question import FitQuestion
from rackfit.publish.pages.compare_rows import Line
from rackfit.tabular.csv_file import as_csv


def test_what_differs_is_marked_and_the_best_is_bold(get):
    """H100, H200: 80 and 141 GB, 3350 and 4800 GB/s, the same 989.4 dense BF16 TFLOPS (NVIDIA data sheets)."""
    body = get("/compare.json?items=h100-sxm5-80gb,nvidia-h200-sxm-141gb").json()
    rows = {row["name"]: row for row in body["rows"]}
    assert body["kind"] == "accelerator" and len(body["items"]) == 2
    assert rows["memory on the label"]["values"] == [80, 141] and rows["memory on the label"]["differs"]
    assert rows["memory bandwidth"]["values"] == [3350, 4800]
    assert not rows["peak bf16, dense"]["differs"]
    page = get("/compare?items=h100-sxm5-80gb,nvidia-h200-sxm-141gb")
    assert page.status_code == 200 and 'class="rf-best">141 GB' in page.text and "&ne;" in page.text
    only = get("/compare?items=h100-sxm5-80gb,nvidia-h200-sxm-141gb&only=differences")
    assert "peak bf16" in page.text and "peak bf16" not in only.text


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        ("qwen3-32b,google/gemma-3-27b-pt,gpt-oss-120b", "model"),
        ("nvidia-dgx-h100,gcp-a3-highgpu-8g", "system"),
        ("rtx-3090,rtx-4090,rtx-5090,l40s,nvidia-l4", "accelerator"),
    ],
)
def test_models_devices_and_systems_are_compared(get, items, kind):
    """Each kind has rows of its own; the CSV has the same figures as the JSON."""
    body = get(f"/compare.json?items={items}").json()
    assert body["kind"] == kind and get(f"/compare?items={items}").status_code == 200
    sheet = list(csv.reader(io.StringIO(get(f"/compare.csv?items={items}").text)))
    assert sheet[0][3:] == [item["id"] for item in body["items"]]
    assert [line[0] for line in sheet[1:]] == [row["name"] for row in body["rows"]]


@pytest.mark.parametrize(
    ("items", "status", "text"),
    [
        ("qwen3-32b,rtx-4090", 400, "one kind"),
        ("rtx-4090,rtx-3090,rtx-5090,l40s,nvidia-l4,nvidia-l20", 400, "expected 2 to 5"),
        ("rtx-4090,rtx-40900", 404, "unknown"),
        ("a100,rtx-4090", 400, "class"),
        ("x" * 2000, 400, "characters"),
    ],
)
def test_a_bad_list_keeps_the_form(get, items, status, text):
    """400 or 404, what was typed stays, JSON and CSV say the same."""
    page = get(f"/compare?items={items}")
    assert page.status_code == status and text in page.text and f'value="{items[:1000]}"' in page.text
    assert get(f"/compare.json?items={items}").status_code == status
    assert text in get(f"/compare.csv?items={items}").text


def test_near_names_replace_the_wrong_one(get):
    """A link asks again with the other items kept."""
    assert "items=rtx-4090%2C" in get("/compare?items=rtx-4090,rtx-40900").text


def test_machines_are_compared_by_what_they_make_of_models(get, connection):
    """Expressions beside devices and systems; the answer of `rackfit compare`; each speed explained one click on."""
    asked = "items=2x+rtx-3090,rtx-6000-ada,dgx-h100&models=llama-3.1-70b,qwen3-8b&context=8k"
    names = ["2x rtx-3090", "rtx-6000-ada", "dgx-h100"]
    answer = compare_machines(
        connection, names, ["llama-3.1-70b", "qwen3-8b"], FitQuestion(context=8192), read_choice(connection)
    )
    body = get(f"/compare.json?{asked}").json()
    assert body["kind"] == "machine"
    assert {name: body[name] for name in answer} == json.loads(json.dumps(answer))
    page = get(f"/compare?{asked}").text
    for words in ("tokens/s, estimate", "tokens/s, bound", "lowest price per hour", "Assumed", "range wider"):
        assert words in page
    href = html.unescape(re.search(r'href="(/speed\?model=meta-llama[^"]+)"', page)[1])
    said = get(href.replace("/speed?", "/speed.json?")).json()["speed"]
    assert said["decode"][0]["tokens_per_s"] == answer["models"][0]["cells"][0]["tokens_per_s"]
    sheet = list(csv.reader(io.StringIO(get(f"/compare.csv?{asked}").text)))
    assert "meta-llama/llama-3.1-70b: tokens/s, estimate" in [line[0] for line in sheet]


def test_devices_with_models_named_are_machines(get):
    """Two devices are records; with models they are machines of one each."""
    assert get("/compare.json?items=rtx-3090,rtx-4090").json()["kind"] == "accelerator"
    assert get("/compare.json?items=rtx-3090,rtx-4090&models=qwen3-8b").json()["kind"] == "machine"


@pytest.mark.parametrize(
    ("more", "status"),
    [("&models=lama-8", 404), ("&context=long", 400), ("&sequences=0", 400), ("&precision=bf61&models=qwen3-8b", 404)],
)
def test_what_machines_are_compared_by_is_checked(get, more, status):
    """A model or figure that cannot be read keeps the form."""
    page = get(f"/compare?items=2x+rtx-3090,rtx-4090{more}")
    assert page.status_code == status and 'name="models"' in page.text
    assert get(f"/compare.json?items=2x+rtx-3090,rtx-4090{more}").status_code == status


def test_one_item_asks_for_another(get):
    """One name is a page that asks for a second; none is an empty form; as JSON both are no comparison."""
    assert get("/compare?items=rtx-4090").status_code == 200 and get("/compare").status_code == 200
    assert get("/compare.json?items=rtx-4090").status_code == 400 and get("/compare.json").status_code == 400


def test_a_row_without_figures_has_no_best():
    """Text, equal values and single values win nothing."""
    assert Line("x", (1, 1), best="high").winners == frozenset()
    assert Line("x", (1, None), best="high").winners == frozenset()
    assert Line("x", (1, 3, 3), best="high").winners == {1, 2}
    assert Line("x", ("a", "b")).differs and not Line("x", ("a", "b")).winners


def test_no_spreadsheet_runs_a_cell():
    """A name that starts like a formula is text."""
    assert as_csv(("a",), [("=1+1",), ("-2",), (3,)]).splitlines() == ["a", "'=1+1", "-2", "3"]
