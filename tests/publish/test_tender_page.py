"""/tender: a pasted file of requirements, checked."""

from __future__ import annotations

import csv
import io
from urllib.parse import urlencode

import openpyxl
import pytest

TEXT = (
    '[[requirement]]\nid = "a"\nfield = "rack_units"\nat_most = 8\n'
    '[[requirement]]\nid = "b"\ndevices = "8 x >= 141 GB"\n'
)


def asked(**more):
    """Return the query string of a question."""
    return urlencode({"requirements": TEXT, "systems": "nvidia-dgx-h100, nvidia-dgx-h200", **more})


def test_the_check_as_page_and_files(get):
    """DGX H100 and H200 are 8U (user guide); the H100 has 80 GB and the H200 141 GB (data sheets)."""
    body = get(f"/tender.json?{asked()}").json()
    assert [(row["system"], row["verdict"]) for row in body["systems"]] == [
        ("nvidia-dgx-h200", "compliant"), ("nvidia-dgx-h100", "not compliant"),
    ]  # fmt: skip
    page = get(f"/tender?{asked()}")
    assert page.status_code == 200 and "systems/nvidia-dgx-h200.rack_units" in page.text
    assert "8 x 80 GB" in page.text and "&gt;= 141 GB" in page.text
    lines = list(csv.DictReader(io.StringIO(get(f"/tender.csv?{asked()}").text, newline="")))
    assert [line["verdict"] for line in lines] == [row["verdict"] for row in body["results"]]
    book = openpyxl.load_workbook(io.BytesIO(get(f"/tender.xlsx?{asked()}").content))
    assert book["data"].max_row == len(lines) + 1 and book["sources"].max_row > 1


def test_all_that_is_bought(get):
    """Without systems every system on record that is bought, or those of a maker."""
    body = get(f"/tender.json?{urlencode({'requirements': TEXT, 'provider': 'NVIDIA'})}").json()
    assert any(row["system"] == "nvidia-dgx-h200" for row in body["systems"])
    assert not any("p5" in row["system"] for row in body["systems"])


@pytest.mark.parametrize(
    ("more", "status", "text"),
    [
        ({"requirements": "[[requirement]]\nfeild = 'x'\n"}, 400, "requirements.toml:2"),
        ({"requirements": "not toml"}, 400, "expected TOML"),
        ({"requirements": TEXT.replace("rack_units", "rackunits")}, 400, "rack_units"),
        ({"systems": "nvidia-dgx-h1000"}, 404, "unknown"),
        ({"systems": "", "provider": "Nvidea"}, 404, "NVIDIA"),
        ({"requirements": ""}, 400, "needs requirements"),
        ({"requirements": "x" * 9000}, 400, "characters"),
    ],
)
def test_a_bad_question_keeps_the_form(get, more, status, text):
    """400 or 404 with the place of each fault; what was pasted stays; files say the same."""
    page = get(f"/tender?{asked(**more)}")
    assert page.status_code == status and text in page.text and "<textarea" in page.text
    for ending in ("json", "csv", "xlsx"):
        answer = get(f"/tender.{ending}?{asked(**more)}")
        assert answer.status_code == status and text in answer.text


def test_an_empty_page_has_an_example_that_works(get):
    """The example in the form is a question that has an answer."""
    page = get("/tender")
    assert page.status_code == 200
    from rackfit.publish.pages.tender import EXAMPLE

    answer = get("/tender.json?" + urlencode({"requirements": EXAMPLE, "provider": "NVIDIA"}))
    assert answer.status_code == 200 and answer.json()["systems"]


def test_a_script_in_a_requirement_is_text(get):
    """What is pasted is shown and never run."""
    text = '[[requirement]]\nid = "<script>alert(1)</script>"\ndevices = "1 x 8 GB"\n'
    page = get("/tender?" + urlencode({"requirements": text, "systems": "rtx-4090"}))
    assert page.status_code == 200 and "<script>alert(1)" not in page.text
