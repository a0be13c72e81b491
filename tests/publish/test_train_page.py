"""The page of a training question."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

ASKED = {"model": "llama-3.1-8b", "on": "8x h100-sxm5-80gb", "tokens": "1e12"}
LLAMA_8B = 8_030_261_248
"""Parameters of Llama-3.1-8B: the safetensors total of its repository."""


def test_states_are_those_of_the_paper(get):
    """Mixed Adam at stage 1 over 8 devices: 2 + 2 bytes whole and 12 / 8 divided (ZeRO paper, table 1)."""
    device = get("/train.json?" + urlencode({**ASKED, "zero": 1, "recompute": "none", "offload": "none"})).json()[
        "per_device"
    ]

    assert device["weights_bytes"] == pytest.approx(2 * LLAMA_8B, rel=1e-6)
    assert device["gradients_bytes"] == pytest.approx(2 * LLAMA_8B, rel=1e-6)
    assert device["master_bytes"] + device["optimizer_bytes"] == pytest.approx(12 * LLAMA_8B / 8, rel=1e-6)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"recipe": "qlora"},
        {"recompute": "full", "zero": "3"},
        {"offload": "optimizer"},
        {"loss": "fused_linear"},
        {"job": "dpo"},
    ],
)
def test_what_lies_there_at_the_peak_adds_up(get, more):
    """The parts at the peak are the allocated bytes, and the three levels rise."""
    device = get("/train.json?" + urlencode({**ASKED, **more})).json()["per_device"]

    assert sum(device["at_peak"].values()) == pytest.approx(device["allocated_bytes"], abs=len(device["at_peak"]))
    assert device["allocated_bytes"] <= device["reserved_bytes"] < device["driver_bytes"]
    assert device["allocated_bytes"] == max(device["moments"].values())


def test_three_levels_in_a_picture(get):
    """Allocated, reserved and driver-seen are three bars, said in words too."""
    page = get("/train?" + urlencode(ASKED)).text
    picture = re.search(r'<svg class="rf-budget".*?</svg>', page, re.DOTALL)[0]

    for word in ("allocated", "reserved", "driver sees"):
        assert f">{word}</text>" in picture
        assert re.search(rf'aria-label="[^"]*{word} [\d.]+ GiB', picture)


def test_the_answer_is_whole(get):
    """Strategy, limits, days with range, alternatives, host and the stages of ZeRO."""
    page = get("/train?" + urlencode(ASKED)).text

    for words in (
        "Largest micro-batch", "Longest sequence", "Fewest devices", "range", "1 trillion tokens", "Other strategies",
        "Other recipes", "Host and disk", "Checkpoint", "Assumed", "/zero?",
    ):  # fmt: skip
        assert words in page


def test_other_strategies_are_questions(get):
    """A strategy of the list leads to its own answer, with the verdict that the list gives."""
    page = get("/train?" + urlencode(ASKED)).text
    part = re.search(r"Other strategies</h2>(.*?)</table>", page, re.DOTALL)[1]
    rows = re.findall(r'href="(/train\?[^"]*)".*?rf-(fits|tight|no|cannot_run)"', part)

    assert rows
    for address, verdict in rows:
        address = address.replace("&amp;", "&").replace("/train?", "/train.json?")
        assert get(address).json()["verdict"] == verdict, address


def test_what_does_not_fit(get):
    """A 70B model whole on one 24 GB card is no, whatever the strategy: 16-bit weights alone are 141 GB."""
    answer = get("/train.json?model=llama-3.1-70b&on=rtx-4090&offload=none").json()
    page = get("/train?model=llama-3.1-70b&on=rtx-4090&offload=none").text

    assert answer["verdict"] == "no" and answer["max_micro_batch"] == 0
    assert "none fits" in page and "what does not run takes no time" in page


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"model": "llama-3.1-7b", "on": "h100-sxm5-80gb"}, 404, "did you mean"),
        ({"model": "llama-3.1-8b", "on": "h1000"}, 404, "h1000"),
        ({"zero": "1"}, 400, "name a model"),
        ({"model": "llama-3.1-8b", "zero": "x"}, 400, "zero"),
        ({**ASKED, "zero": "4"}, 400, "from 0 to 3"),
        ({**ASKED, "recompute": "some"}, 404, "some"),
        ({**ASKED, "offload": "tape"}, 400, "offload"),
        ({**ASKED, "framework": "abacus"}, 404, "abacus"),
        ({**ASKED, "optimizer": "adam_of_old"}, 404, "adam_of_old"),
        ({**ASKED, "tp": "3"}, 400, "does not divide"),
        ({**ASKED, "tokens": "many"}, 400, "expected a number"),
        ({**ASKED, "tokens": "-5"}, 400, "tokens"),
        ({**ASKED, "flash": "perhaps"}, 400, "yes or no"),
        ({**ASKED, "rank": "0"}, 400, "rank"),
        ({**ASKED, "recipe": "lora", "targets": "nothing"}, 400, "targets"),
        ({**ASKED, "job": "distill"}, 400, "teacher"),
        ({**ASKED, "teacher": "nobody-1b"}, 404, "nobody-1b"),
        ({"model": "x" * 500, "on": "rtx-4090"}, 400, "at most"),
    ],
)
def test_bad_parameters(get, said, status, words):
    """400 for a bad figure, 404 for an unknown name, one clear line, the form as it was typed; JSON says the same."""
    page, body = get("/train?" + urlencode(said)), get("/train.json?" + urlencode(said))

    assert (page.status_code, body.status_code) == (status, status)
    assert words in page.text and words in body.json()["error"]
    assert "Traceback" not in page.text and 'name="recipe"' in page.text


@pytest.mark.parametrize(("said", "words"), [("model=llama-3.1-8b", "hardware too"), ("on=rtx-4090", "model too")])
def test_half_a_question_waits_for_the_other(get, said, words):
    """A link from a model or a device opens the form with it filled in; a program is told what is missing."""
    page = get(f"/train?{said}")

    assert page.status_code == 200 and words in page.text and f'value="{said.split("=")[1]}"' in page.text
    assert get(f"/train.json?{said}").status_code == 400


def test_an_empty_form_is_a_page(get):
    """Nothing asked is no error."""
    assert get("/train").status_code == 200
    assert get("/train.json").status_code == 400


def test_the_breakdown_as_a_file(get):
    """The page's answer as CSV and workbook, part by part; what is refused on the page is refused as a file."""
    asked = "model=llama-3.1-8b&on=8x+h100-sxm5-80gb"
    answer = get(f"/train.json?{asked}").json()
    sheet = get(f"/train.csv?{asked}")
    assert sheet.status_code == 200 and f"per_device,driver,{answer['per_device']['driver_bytes']}" in sheet.text
    assert get(f"/train.xlsx?{asked}").headers["content-type"].startswith("application/vnd.openxmlformats")
    assert f"/train.xlsx?{asked.replace(' ', '+')}".split("?")[0] in get(f"/train?{asked}").text
    assert get("/train.csv?model=llama-3.1-8b&on=h100-sxm5-99gb").status_code == 404
    assert get("/train.xlsx?model=llama-3.1-8b").status_code == 400
