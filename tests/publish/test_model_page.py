"""The page of one model."""

from __future__ import annotations

import re

import pytest

from rackfit.publish.drawings import charts, layers
from rackfit.publish.pages.record import COLUMNS


def test_the_page_of_a_model_says_what_its_json_says(get):
    """Parameters, formats and pictures are there, and a link to the row and to the answer."""
    page = get("/model/qwen/qwen3-8b")
    body = get("/model/qwen/qwen3-8b.json").json()
    assert page.status_code == 200 and body["ok"] and body["id"] == "qwen/qwen3-8b"
    assert f"{body['known']['params_total']:,}" in page.text
    assert page.text.count("<svg") > 5 and page.text.count('role="img"') >= 6
    for entry in body["weights"]:
        assert f"{entry['bytes']:,} bytes" in page.text
    assert "/why?model=qwen%2Fqwen3-8b" in page.text


def test_the_cache_of_a_model_grows_as_the_document_says(get):
    """Llama 3.1 8B: 131072 bytes per token at 16 bits (MEMORY_MODEL section 4), half of it in FP8."""
    body = get("/model/meta-llama/llama-3.1-8b.json").json()
    series = {one["format"]: one["at"] for one in body["cache"]}
    assert series["bf16"]["8192"] == 131072 * 8192
    assert series["fp8"]["131072"] == 131072 * 131072 // 2


def test_a_window_bends_the_cache(get):
    """Gemma 3 27B: 52 of 62 layers keep 1024 tokens, so the second half of the curve grows by the other ten alone."""
    points = dict(map(tuple, get("/model/google/gemma-3-27b-pt.json").json()["cache"][0]["points"]))
    assert 1024 in points
    assert (points[131072] - points[65536]) / 65536 == 10 * 2 * 16 * 128 * 2


def test_layers_are_drawn_in_their_order(get):
    """Gemma 3: five windowed layers, then one that sees all (Gemma 3 report, 5:1)."""
    groups = get("/model/google/gemma-3-27b-pt.json").json()["parts"]["layer_groups"]
    for group in groups:
        group.setdefault("beside", 0)
    ((name, order),) = layers.strips(groups)
    full = next(group["group_index"] for group in groups if group["attention"] == "gqa")
    assert name == "layers" and len(order) == 62
    assert [number == full for number in order[:12]] == [False] * 5 + [True] + [False] * 5 + [True]


@pytest.mark.parametrize("name", ["Qwen3-8B", "Qwen/Qwen3-8B", "qwen3-8b", "QWEN/QWEN3-8B"])
def test_another_name_leads_to_the_page(get, name):
    """A name that is no key is sent on to the key's address, JSON too."""
    answer = get(f"/model/{name}", follow=False)
    assert answer.status_code == 302 and answer.headers["location"].endswith("/model/qwen/qwen3-8b")
    assert get(f"/model/{name}.json", follow=False).headers["location"].endswith("/model/qwen/qwen3-8b.json")


@pytest.mark.parametrize("name", ["qwenn3-8b", "no/such", "%3Cscript%3E"])
def test_an_unknown_model_is_not_found_and_can_be_asked_again(get, name):
    """404 with near names; what was typed stays in the search box; JSON says the same."""
    page = get(f"/model/{name}")
    assert (
        page.status_code == 404
        and 'name="q"' in page.text
        and "<script>" not in page.text.split("rf-record")[1].split("footer")[0]
    )
    body = get(f"/model/{name}.json")
    assert body.status_code == 404 and body.json()["ok"] is False


def test_a_name_too_long_is_refused(get):
    """Nothing is looked up for a name that is none."""
    assert get("/model/" + "x" * 500).status_code == 400


def test_every_model_has_a_page(served, get, connection):
    """No record is shaped so that its page fails: all of them are read and drawn."""
    assert COLUMNS["model"] == "model_id"
    for (key,) in connection.execute("select model_id from models order by model_id").fetchall():
        answer = get(f"/model/{key}")
        assert answer.status_code == 200, key


def test_round_ticks_and_short_tokens():
    """Axes end near the largest value, in steps people read."""
    assert charts.ticks(0) == [0.0]
    assert charts.ticks(7.3) == [0.0, 2.0, 4.0, 6.0]
    assert charts.tokens(8192) == "8K" and charts.tokens(10_485_760) == "10M"


def test_what_trains_a_model_is_on_both_pages(get, connection):
    """The pages show the stored answers: the fewest devices for a model, the largest model for a device."""
    stored = connection.execute(
        "select recipe_id, criterion, device_count from best_training where model_id = 'qwen/qwen3-8b'"
    ).fetchall()
    shown = get("/model/qwen/qwen3-8b.json").json()["training"]
    assert {(row["recipe_id"], row["criterion"], row["device_count"]) for row in shown} == set(map(tuple, stored))
    for row in get("/hardware/nvidia-h100-sxm5-80gb.json").json()["training"]:
        assert row["one"] is None or row["one"]["params_total"] <= row["eight"]["params_total"]


def test_counts_are_said_as_people_say_them(get):
    """Llama 3.1 8B has 8.03 billion parameters (its safetensors index)."""
    assert "8.03 billion" in get("/model/meta-llama/llama-3.1-8b").text


@pytest.mark.parametrize(
    "page",
    [
        "/model/meta-llama/llama-3.1-8b",
        "/model/qwen/qwen3-30b-a3b",
        "/hardware/nvidia-rtx-4090",
        "/hardware/amd-mi300x",
    ],
)
def test_what_trains_leads_to_the_same_answer(get, page):
    """Each cell of the training tables is a question of /train, and the live answer is the stored one."""
    text = get(page).text
    found = re.findall(r'href="(/train\?[^"]*recipe=[^"]*)">(?:<span class="rf-verdict rf-(\w+)")?', text)

    assert len(found) >= 4 and 'formaction="/train"' in text
    for address, verdict in found:
        address = address.replace("&amp;", "&").replace("/train?", "/train.json?")
        assert get(address).json()["verdict"] == (verdict or "fits"), address
