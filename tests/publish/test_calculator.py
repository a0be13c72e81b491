"""The calculator: every setting of the commands in an address, answered by the same arithmetic."""

from __future__ import annotations

import dataclasses
import json
import re
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from rackfit.ask.question import FitQuestion
from rackfit.ask.train import TrainQuestion
from rackfit.cli.app import cli
from rackfit.publish.pages.fields import FIT, TRAIN
from rackfit.publish.pages.form import Form, TrainForm

KNOBS = {
    "model": "qwen3-30b-a3b", "on": "rtx-4090", "precision": "q8_0", "context": "16k", "sequences": "2",
    "cpu_experts": "auto", "host_ram_gib": "64", "reserve_gib": "0.5",
}  # fmt: skip
OPTIONS = {"host_ram_gib": "host-ram", "reserve_gib": "reserve", "usable_gib": "usable"}


def names(one):
    """Return the names of a dataclass's fields."""
    return {field.name for field in dataclasses.fields(one)}


def test_every_setting_can_be_asked():
    """A setting of a command is a parameter of the page, with a place in its form."""
    assert names(Form) == names(FitQuestion) - {"limit"}
    assert names(TrainForm) == names(TrainQuestion)
    assert {field.name for group in FIT for field in group.fields} == names(Form)
    assert {field.name for group in TRAIN for field in group.fields} == names(TrainForm)


@pytest.mark.parametrize(
    ("command", "task", "asked"),
    [
        ("fit", "inference", KNOBS),
        ("fit", "inference", {"model": "llama-3.1-8b", "on": "2x rtx-3090", "pp": "2", "split": "20,12"}),
        ("train", "training", {"model": "llama-3.1-8b", "on": "rtx-4090", "recipe": "qlora", "sequence_length": "2k"}),
    ],
)
def test_same_answer_as_the_command(get, catalog, command, task, asked):
    """The page's JSON is that of `rackfit fit --json` and `rackfit train --json`, with the question beside it."""
    body = get("/calculator.json?" + urlencode({"task": task, **asked})).json()
    options = [
        part
        for name, value in asked.items()
        if name != "model"
        for part in (f"--{OPTIONS.get(name, name).replace('_', '-')}", value)
    ]
    said = CliRunner().invoke(cli, [command, asked["model"], *options, "--json", "--catalog", str(catalog)])

    assert said.exit_code == 0, said.output
    assert body.pop("query") == asked
    assert body.pop("task") == task
    assert body == json.loads(said.stdout)


def test_the_picture_says_what_the_table_says(get):
    """The bars add up to what is needed, and words say the same to those who do not see them.

    The cache of Llama-3.1-8B is 32 layers x 8 heads x 2 x 128 x 2 bytes per token: 1 GiB for 8192 (MEMORY_MODEL, 4).
    """
    page = get("/calculator?model=llama-3.1-8b&on=a100-sxm4-80gb&context=8192").text
    picture = re.search(r'<svg class="rf-budget".*?</svg>', page, re.DOTALL)[0]
    said = re.search(r'aria-label="([^"]*)"', picture)[1]
    sizes = [
        int(size.replace(",", ""))
        for size in re.findall(r'rf-bar-(?:weights|kv|workspace|runtime)".*?([\d,]+) b', picture)
    ]
    answer = get("/calculator.json?model=llama-3.1-8b&on=a100-sxm4-80gb&context=8192").json()

    assert "cache 1 GiB" in said and "usable" in said and "between" in said
    assert sum(sizes[:4]) == answer["per_device"]["total_bytes"]


def test_forms_keep_what_was_typed(get):
    """What was asked stands in the form again, its group is open, and the other task starts with the same names."""
    page = get("/calculator?" + urlencode(KNOBS)).text

    assert 'name="cpu_experts" value="auto"' in page
    assert re.search(r'<details class="rf-more" open><summary>Part of the model in RAM', page)
    assert page.count('value="qwen3-30b-a3b"') >= 2
    assert '<input type="hidden" name="task" value="training">' in page


def test_links_lead_to_the_whole_answer(get):
    """Reason, speed, training, records: each a link of the answer that answers."""
    page = get("/calculator?" + urlencode(KNOBS)).text

    for start in ("/why?", "/speed?", "/cost?", "/train?", "/model/", "/hardware/", "/calculator.json?"):
        address = re.search(rf'href="({re.escape(start)}[^"]*)"', page)[1].replace("&amp;", "&")
        assert get(address).status_code == 200, address
    assert "cpu_experts=auto" in re.search(r'href="(/why\?[^"]*)"', page)[1]


def test_suggestions_can_be_followed(get):
    """Each change that makes it fit is an address whose answer fits, and stays in the calculator."""
    page = get("/calculator?model=llama-3.1-70b&on=a100-sxm4-80gb&precision=bf16").text
    found = re.search(r"What would make it fit</h2><ul>(.*?)</ul>", page, re.DOTALL)[1]
    addresses = [one.replace("&amp;", "&") for one in re.findall(r'href="(/calculator\?[^"]*)"', found)]

    assert addresses
    for address in addresses:
        assert get(address.replace("/calculator?", "/calculator.json?")).json()["verdict"] in ("fits", "tight")


@pytest.mark.parametrize("asked", ["model=qwen3-8b&max_price=1", "on=rtx-3090&context=32k"])
def test_half_a_question_is_a_list(get, asked):
    """Only a model: where it runs within the price. Only hardware: what runs on it."""
    page, body = get(f"/calculator?{asked}"), get(f"/calculator.json?{asked}").json()

    assert page.status_code == 200 and 'class="rf-verdict' in page.text
    assert body["results"]
    if "max_price" in asked:
        assert all(row["price_per_hour"] is None or row["price_per_hour"] <= 1 for row in body["results"])
    else:
        assert {row["context"] for row in body["results"]} == {32768}


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("task=cooking&model=qwen3-8b", 400, "inference or training"),
        ("model=qwenn3-8b&on=2x+rtx-4090", 404, "did you mean"),
        ("model=qwen3-8b&on=2x+rtx-40900", 404, "rtx-40900"),
        ("model=qwen3-8b&on=rtx-4090&tp=two", 400, "tp = &#39;two&#39;: expected a whole number"),
        ("model=qwen3-8b&on=rtx-4090&utilization=1.5", 400, "utilization = 1.5: expected a share"),
        ("model=qwen3-8b&on=rtx-4090&utilization=nan", 400, "expected a number"),
        ("model=qwen3-8b&on=rtx-4090&gpu_layers=most", 400, "or auto"),
        ("model=qwen3-8b&on=rtx-4090&split=a", 400, "layers such as"),
        ("model=qwen3-8b&on=rtx-4090&mtp=perhaps", 400, "yes or no"),
        ("model=qwen3-8b&on=rtx-4090&draft=nobody-1b", 404, "nobody-1b"),
        ("model=qwen3-8b&on=cpu", 400, "RAM"),
        ("context=8k", 400, "name a model"),
        ("model=" + "x" * 500, 400, "at most"),
        ("task=training&model=qwen3-8b", 400, "hardware"),
        ("task=training&model=qwen3-8b&on=rtx-4090&zero=7", 400, "stage from 0 to 3"),
        ("task=training&model=qwen3-8b&on=rtx-4090&recipe=adam_of_old", 404, "adam_of_old"),
    ],
)
def test_bad_parameters(get, query, status, text):
    """400 for a bad figure, 404 for an unknown name, one clear line, the form as it was typed; JSON says the same."""
    page, body = get(f"/calculator?{query}"), get(f"/calculator.json?{query}")

    assert (page.status_code, body.status_code) == (status, status)
    assert text in page.text and body.json()["ok"] is False
    assert "Traceback" not in page.text and 'name="model"' in page.text


def test_near_names_keep_the_rest_of_what_was_typed(get):
    """A near name of a device takes its place within the expression, and the other settings stay."""
    page = get("/calculator?model=qwen3-8b&on=2x+rtx-40900&context=4096").text
    found = [one.replace("&amp;", "&") for one in re.findall(r'href="(/calculator\?[^"]*on=2x[^"]*)"', page)]

    assert found and all("context=4096" in one and "model=qwen3-8b" in one for one in found)
    assert get(found[0]).status_code == 200


def test_an_empty_form_is_a_page(get):
    """Nothing asked is no error; the program that asks nothing is told what to ask."""
    page = get("/calculator").text

    assert page.count("<form") >= 2 and 'list="rf-known-models"' in page and '<datalist id="rf-known-hardware">' in page
    assert get("/calculator.json").status_code == 400


def test_why_keeps_settings_that_its_form_lacks(get):
    """A question with a draft model and a layout is explained as asked, and asked again with both."""
    page = get("/why?model=qwen3-32b&on=2x+a100-sxm4-80gb&tp=2&draft=qwen3-0.6b").text

    assert '<input type="hidden" name="draft" value="qwen3-0.6b">' in page
    assert "Beside the model" in page and "TP 2" in page


LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
"""The fields of Llama-3.1-8B's config.json."""


@pytest.mark.parametrize("task", ["inference", "training"])
def test_a_pasted_config_is_the_model(get, task):
    """The bytes of a pasted file are those of the record with the same shape, and no link leads to a page it lacks."""
    asked = {"task": task, "on": "a100-sxm4-80gb"}
    pasted = {**asked, "model": "my-finetune", "config": json.dumps(LLAMA_8B)}
    own, record = (
        get("/calculator.json?" + urlencode(one)).json() for one in (pasted, {**asked, "model": "llama-3.1-8b"})
    )
    page = get("/calculator?" + urlencode(pasted)).text

    assert own["model"] == "my-finetune" and own["verdict"] == record["verdict"]
    assert own["per_device"] == record["per_device"]
    assert "read from my-finetune" in page and "&#34;hidden_size&#34;: 4096" in page
    assert "/model/my-finetune" not in page and "/model/file" not in page


def test_where_a_pasted_model_runs(get):
    """Without hardware the list is made for it, and each row leads back to the calculator with the file."""
    page = get("/calculator?" + urlencode({"config": json.dumps(LLAMA_8B), "max_price": "2"})).text
    found = [one.replace("&amp;", "&") for one in re.findall(r'href="(/calculator\?[^"]*config=[^"]*)"', page)]

    assert found and get(found[0].replace("/calculator?", "/calculator.json?")).json()["verdict"] in ("fits", "tight")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("{}", "no part has a number of layers"),
        (json.dumps({**LLAMA_8B, "compress_ratios": [4]}), "compress_ratios"),
        ("x" * 17_000, "at most 16000"),
    ],
)
def test_a_pasted_text_that_is_no_model(get, text, words):
    """One clear line, 400, and the text stays in the form."""
    query = urlencode({"on": "rtx-4090", "config": text})
    page, body = get(f"/calculator?{query}"), get(f"/calculator.json?{query}")

    assert (page.status_code, body.status_code) == (400, 400)
    assert words in body.json()["error"] and "<textarea" in page.text


@pytest.mark.parametrize("name", ["/etc/hostname.json", "../config.json", "model.gguf", "~/model.safetensors"])
def test_no_page_reads_a_file_of_the_server(get, name):
    """A path is a name like any other on a page, and an unknown one."""
    for page in ("/calculator.json", "/why.json", "/train.json", "/speed.json"):
        assert get(f"{page}?" + urlencode({"model": name, "on": "rtx-4090"})).status_code == 404


@pytest.mark.parametrize("on", ["1x rtx-3090 + 1x rtx-3070", "cpu&host_ram_gib=32", "a100-sxm4-80gb/2g.20gb"])
def test_every_link_of_an_answer_answers(get, on):
    """Unlike devices, no device and slices: no link leads to a page that cannot answer."""
    page = get("/calculator?model=qwen3-0.6b&on=" + on.replace(" + ", "+%2B+").replace(" ", "+")).text
    found = {
        one.replace("&amp;", "&") for one in re.findall(r'href="(/(?:why|speed|cost|train|model)[?/][^"]*)"', page)
    }

    assert found
    for address in found:
        assert get(address).status_code == 200, address
