"""The page that explains one answer."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest


def test_an_answer_has_terms_that_add_up(get):
    """Weights, cache, workspace and runtime are the total; the page shows the same bytes as the JSON."""
    answer = get("/why.json?model=llama-3.1-8b&on=a100-sxm4-80gb&context=8192").json()
    parts = {term["name"]: term["bytes"] for term in answer["terms"]}
    assert sum(parts.values()) == answer["per_device"]["total_bytes"]
    page = get("/why?model=llama-3.1-8b&on=a100-sxm4-80gb&context=8192")
    assert page.status_code == 200
    for count in parts.values():
        assert f"{count:,}" in page.text
    assert "<svg" in page.text and "Sources" in page.text


def test_the_cache_of_llama_8b_is_that_of_the_document(get):
    """131072 bytes per token at 16 bits: 32 layers x 8 heads x 2 x 128 x 2 bytes (MEMORY_MODEL section 4)."""
    answer = get("/why.json?model=llama-3.1-8b&on=a100-sxm4-80gb&context=8192").json()
    assert answer["per_device"]["kv_bytes"] == 131072 * 8192


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("model=qwenn3-32b&on=rtx-4090", 404, "did you mean"),
        ("model=qwen3-32b&on=rtx-40900", 404, "unknown"),
        ("model=qwen3-32b&on=rtx-4090&context=many", 400, "context"),
        ("model=qwen3-32b&on=rtx-4090&context=-5", 400, "context"),
        ("model=qwen3-32b&on=rtx-4090&sequences=0", 400, "sequences"),
        ("model=qwen3-32b&on=rtx-4090&precision=q5_banana", 404, "unknown"),
        ("model=qwen3-32b&on=0x+rtx-4090", 400, "expected"),
        ("model=LFM2-350M-F17.gguf&on=rtx-4090", 404, "LFM2-350M-F16.gguf"),
        ("model=/tmp&on=rtx-4090", 404, "unknown"),
        ("model=/etc/hosts.json&on=rtx-4090", 404, "unknown"),
        ("model=" + "x" * 500 + "&on=rtx-4090", 400, "characters"),
    ],
)
def test_a_bad_question_keeps_the_form(get, query, status, text):
    """400 for a bad figure, 404 for an unknown name; the form keeps what was typed; JSON says the same."""
    page = get(f"/why?{query}")
    assert page.status_code == status
    assert text in page.text and 'name="model"' in page.text
    answer = get(f"/why.json?{query}")
    assert answer.status_code == status and answer.json()["ok"] is False


def test_near_names_can_be_asked_with_one_click(get):
    """An unknown name comes with addresses that keep the rest of the question."""
    page = get("/why?model=qwenn3-32b&on=rtx-4090&context=4096")
    assert "model=qwen" in page.text.casefold() and "context=4096" in page.text


def test_an_empty_form_is_a_page(get):
    """Nothing asked is no error."""
    assert get("/why").status_code == 200
    assert get("/why.json").status_code == 400


@pytest.mark.parametrize(
    ("query", "place"),
    [("model=qwen3-32b", "/catalog/where_a_model_fits"), ("on=2x+rtx-4090", "/catalog/what_runs_on_a_device")],
)
def test_half_a_question_is_a_list(get, query, place):
    """Only a model asks where it runs, only hardware asks what runs."""
    answer = get(f"/why?{query}", follow=False)
    assert answer.status_code == 302 and answer.headers["location"].startswith(place)


@pytest.mark.parametrize(
    "query",
    ["on=3x+rtx-4090", "on=rtx-4090&context=65536", "model=llama-3.1-70b&context=65536", "on=2+nodes+x+dgx-h100"],
)
def test_half_a_question_beyond_the_stored_matrix_is_computed(get, query):
    """Another context or count is not dropped on the way to a stored list: the list is made for it."""
    page = get(f"/why?{query}", follow=False)
    assert page.status_code == 200 and 'class="rf-verdict' in page.text
    body = get(f"/why.json?{query}").json()
    assert body["results"] and body["query"]
    if "context" in query:
        assert {row["context"] for row in body["results"]} == {65536}


def test_what_does_not_fit_says_what_would(get):
    """Llama-3.1-70B at 16 bits is no on one A100 80GB (141 GB of weights), and suggestions say what changes that."""
    answer = get("/why.json?model=llama-3.1-70b&on=a100-sxm4-80gb&precision=bf16").json()
    assert answer["verdict"] == "no" and answer["limit"] == "weights" and answer["suggestions"]


def test_an_answer_and_a_list_as_files(get):
    """One answer part by part, half a question row by row, both as CSV and workbook."""
    one = get("/why.csv?model=qwen3-8b&on=rtx-4090")
    total = get("/why.json?model=qwen3-8b&on=rtx-4090").json()["per_device"]["total_bytes"]
    assert one.status_code == 200 and f"per_device,total,{total}" in one.text
    rows = get("/why.csv?model=qwen3-8b&context=16384")
    assert rows.text.startswith("model,hardware,precision,verdict")
    assert get("/why.xlsx?model=qwen3-8b&on=rtx-4090").status_code == 200
    assert get("/why.csv?model=qwen3-8b&on=rtx-4091").status_code == 404 and get("/why.xlsx").status_code == 400
    assert "/why.xlsx?" in get("/why?model=qwen3-8b&on=rtx-4090").text


@pytest.mark.parametrize(("on", "most_gib"), [("a100-sxm4-80gb/3g.40gb", 40), ("apple-m3-ultra 96gb", 96)])
def test_a_part_of_a_device_has_a_list_of_its_own(get, on, most_gib):
    """What the stored matrix has of the whole device, or of its largest memory, is no answer for less of it."""
    answer = get("/why.json?" + urlencode({"on": on})).json()
    assert answer["results"] and get("/why?" + urlencode({"on": on})).status_code == 200
    assert all(row["total_bytes"] < most_gib * 2**30 for row in answer["results"])


def test_the_stored_list_tells_sizes_of_memory_apart(get):
    """M3 Ultra is sold with 96, 256 and 512 GB (Apple, Mac Studio specifications): a row for each that a model fits."""
    rows = get("/catalog/what_runs_on_a_device.json?device=apple-m3-ultra&_shape=objects").json()["rows"]
    assert {row["configuration_id"].rsplit("-", 1)[-1] for row in rows} == {"96gb", "256gb", "512gb"}
