"""The page of estimates against measurements: whole, filtered, drawn, and case by case."""

from __future__ import annotations

import csv
import io
import math
import re
import time
from urllib.parse import urlencode

import pytest
from markupsafe import escape


def rows(get, sql):
    """Return rows of the catalog by SQL."""
    return get("/catalog.json?_shape=array&" + urlencode({"sql": sql})).json()


def test_every_measurement_is_there(get):
    """Published whole: as many cases as the table has, and resolved and refused add up in every group."""
    (stored,) = rows(get, "select count(*) as n, sum(status = 'refused') as refused from estimates")
    body = get("/accuracy.json").json()
    assert body["summary"]["cases"] == len(body["cases"]) == stored["n"]
    assert body["summary"]["refused"] == stored["refused"]
    for grouped in body["groups"].values():
        assert sum(group["cases"] for group in grouped.values()) == stored["n"]
        assert all(group["resolved"] + group["refused"] == group["cases"] for group in grouped.values())
    assert sum(entry["cases"] for entry in body["refused"]) == stored["refused"]


def test_coverage_and_largest_error_are_those_of_the_table(get):
    """The page sums up what `estimates` holds; the view `accuracy` sums up the same by kind, quantity, confidence."""
    body = get("/accuracy.json?quantity=file_gib&confidence=high").json()
    (view,) = rows(get, "select * from accuracy where kind = 'K4' and quantity = 'file_gib' and confidence = 'high'")
    assert body["summary"]["cases"] == view["cases"]
    assert body["summary"]["coverage"] == pytest.approx(view["coverage"])
    assert body["summary"]["max"] == pytest.approx(view["max_abs_relative_error"])


def test_true_and_false_statements_of_fit_are_scored_apart(get):
    """Four cells and two shares: what fits and was called so, what does not and was called so."""
    fits = get("/accuracy.json").json()["fits"]
    (view,) = rows(
        get,
        "select sum(true_fit) as true_fit, sum(false_fit) as false_fit, sum(true_no) as true_no, "
        "sum(false_no) as false_no from accuracy",
    )
    assert {name: fits[name] for name in view} == view
    assert fits["fits_right"] == pytest.approx(fits["true_fit"] / (fits["true_fit"] + fits["false_no"]))
    assert fits["no_right"] == pytest.approx(fits["true_no"] / (fits["true_no"] + fits["false_fit"]))


def test_every_miss_is_on_the_page(get):
    """Each case outside its range and each wrong verdict links to its own page."""
    missed = rows(
        get,
        "select case_id from estimates where inside_range = 0 or (measured_verdict is not null and "
        "estimate is not null and measured_verdict <> estimate)",
    )
    text = get("/accuracy").text
    assert missed
    for row in missed:
        assert f'href="/accuracy/{row["case_id"]}"' in text
    only = get("/accuracy.json?only=misses").json()
    assert {row["case_id"] for row in only["cases"]} == {row["case_id"] for row in missed}


def test_the_scatter_has_a_link_for_each_point_and_shapes_by_kind(get):
    """Inline SVG with an accessible name; a point leads to its case; kinds differ in outline, not only in colour."""
    text = get("/accuracy").text
    panels = re.findall(r'<svg class="rf-scatter".*?</svg>', text, re.DOTALL)
    assert len(panels) == 2
    for panel in panels:
        assert 'aria-label="' in panel and "logarithmic" in panel
        assert panel.count("<a href=") == panel.count('class="rf-point') == panel.count("<title>")
    outlines = {
        (kind, outline) for kind, outline in re.findall(r'class="rf-point rf-(k\d)" d="([^"]+)"', "".join(panels))
    }
    assert len({kind for kind, _ in outlines}) == len({outline for _, outline in outlines}) == len(outlines) >= 4


@pytest.mark.parametrize(
    ("query", "field", "values"),
    [
        ("kind=K1", "kind", {"K1"}),
        ("quantity=file_gib", "quantity", {"file_gib"}),
        ("confidence=high", "confidence", {"high"}),
        ("engine=vllm", "runtime", {"vllm"}),
        ("engine=litgpt", "engine", {"litgpt"}),
        ("precision=gguf", "precision", {"gguf"}),
        ("kind=K2&engine=vllm&only=misses", "kind", {"K2"}),
    ],
)
def test_filters_choose(get, query, field, values):
    """Only what was asked for comes back, as page, JSON and CSV."""
    body = get(f"/accuracy.json?{query}").json()
    assert body["cases"] and {row[field] for row in body["cases"]} == values
    lines = list(csv.DictReader(io.StringIO(get(f"/accuracy.csv?{query}").text)))
    assert [line["case_id"] for line in lines] == [row["case_id"] for row in body["cases"]]
    assert get(f"/accuracy?{query}").status_code == 200


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("kind=K9", "K1, K2"),
        ("quantity=vram", "expected one of"),
        ("engine=vlllm", "vllm"),
        ("confidence=certain", "high"),
        ("only=hits", "misses"),
        ("colour=red", "filter"),
        ("kind=" + "x" * 900, "expected"),
        ("kind=<script>alert(1)</script>", "expected"),
    ],
)
def test_a_bad_filter_is_refused_and_the_form_kept(get, query, text):
    """400 with what is expected; the other fields stay; JSON and CSV refuse too; markup stays text."""
    page = get(f"/accuracy?{query}&precision=gguf")
    assert page.status_code == 400 and text in page.text and "alert(1)</script>" not in page.text
    assert '<option value="gguf" selected>' in page.text
    answer = get(f"/accuracy.json?{query}")
    assert answer.status_code == 400 and answer.json()["ok"] is False
    assert get(f"/accuracy.csv?{query}").status_code == 400


def test_filters_without_a_case_say_so(get):
    """Values that exist but never together are an empty page, not an error."""
    page = get("/accuracy?kind=K4&quantity=fits")
    assert page.status_code == 200 and "No case matches" in page.text and "<svg class" not in page.text


def test_the_file_is_safe_in_a_spreadsheet(get):
    """No text begins like a formula; negative measurements stay numbers."""
    lines = list(csv.DictReader(io.StringIO(get("/accuracy.csv").text)))
    signed = [cell for line in lines for cell in line.values() if cell[:1] in ("=", "+", "-", "@")]
    assert signed and all(math.isfinite(float(cell)) for cell in signed)


def test_pools_are_shares_of_the_card_and_small_terms_are_gib(get):
    """Beside the relative error: KV pools against the card's memory, non-torch and graphs in GiB."""
    found = {entry["quantity"]: entry for entry in get("/accuracy.json").json()["absolute"]}
    assert found["kv_gib_per_gpu"]["unit"] == "share of card" and found["kv_gib_per_gpu"]["limit"] == 0.04
    assert found["non_torch_gib_per_gpu"]["unit"] == "GiB"
    text = get("/accuracy").text
    assert "share of card" in text and "Relative: median" in text


def test_a_case_shows_what_the_source_prints_beside_each_component(get):
    """vLLM issue 10517 (0.6.4, RTX 3090, 20000 tokens): weights 14.9888, activation 2.07, non-torch 0.35 GiB."""
    body = get("/accuracy/K1-0096.json").json()
    assert body["source_url"] == "https://github.com/vllm-project/vllm/issues/10517"
    printed = {one["name"]: one["printed"] for one in body["components"]}
    assert (printed["weights"], printed["workspace"], printed["non-torch"]) == (14.9888, 2.07, 0.35)
    page = get("/accuracy/K1-0096")
    for text in ("14.9888", "non_torch_gib_per_gpu", 'href="/accuracy/K1-0094"', 'href="/why?', "usable", "kv pool"):
        assert text in page.text
    assert 'href="https://github.com/vllm-project/vllm/issues/10517"' in page.text


def test_total_of_a_case_is_the_sum_of_its_terms(get):
    """weights + kv + workspace + runtime = total; an engine that profiles nothing (SGLang) has no workspace to show."""
    for case_id in ("K1-0096", "K1-0059", "K2-0167"):
        parts = {one["name"]: one["estimate"] for one in get(f"/accuracy/{case_id}.json").json()["components"]}
        assert ("workspace" in parts) is (case_id != "K2-0167")
        terms = sum(parts.get(name, 0.0) for name in ("weights", "kv", "workspace", "runtime"))
        assert terms == pytest.approx(parts["total"], rel=0.01)


def test_the_question_of_a_case_is_one_that_why_answers(get):
    """The link to /why works and asks about the same model."""
    question = get("/accuracy/K1-0096.json").json()["question"]
    answer = get(f"/why.json?{urlencode(question)}")
    assert answer.status_code == 200 and answer.json()["context"] == 20000


def test_a_file_asks_no_question(get):
    """A size on disk has no components and nothing runs."""
    body = get("/accuracy/K4-0001.json").json()
    assert body["components"] == [] and body["question"] is None


def test_a_refused_case_says_why(get):
    """The reason stands on the page, without figures of ours."""
    (first,) = rows(get, "select case_id, reason from estimates where status = 'refused' order by case_id limit 1")
    page = get(f"/accuracy/{first['case_id']}")
    assert page.status_code == 200 and "Refused" in page.text and str(escape(first["reason"])) in page.text


@pytest.mark.parametrize("case_id", ["K1-9999", "nonsense", "K1-0096'", "<script>", "x" * 500])
def test_an_unknown_case_is_404(get, case_id):
    """The page and its JSON say that there is no such case."""
    for ending in ("", ".json"):
        answer = get(f"/accuracy/{case_id}{ending}")
        assert answer.status_code == 404
        assert "<script>" not in answer.text.split("<body")[-1].split("<footer")[0] or ending


def test_every_kind_of_case_has_a_page(get):
    """The first case of each quantity opens."""
    for row in rows(get, "select min(case_id) as case_id from estimates group by kind, quantity"):
        assert get(f"/accuracy/{row['case_id']}").status_code == 200


def test_home_and_menu_lead_here(get):
    """Both have the link."""
    assert get("/").text.count('href="/accuracy"') >= 2
    assert 'href="/accuracy"' in get("/catalog/sources").text


def test_pages_are_fast_once_the_cases_are_read(get):
    """Half a second is the limit on a busy machine; on an idle one it is 50 ms."""
    get("/accuracy")
    for path in ("/accuracy", "/accuracy?kind=K2", "/accuracy/K2-0167"):
        get(path)
        started = time.perf_counter()
        get(path)
        assert time.perf_counter() - started < 0.5, path
