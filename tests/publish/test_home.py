"""The front page: what people ask first, and the matrix for the figures that they ask for."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree

import pytest


def test_the_front_page_is_there_without_a_question(get):
    """Search, question, matrix and release; the stored matrix links every verdict to its reason."""
    page = get("/")
    assert page.status_code == 200 and 'action="/search"' in page.text and "In this release" in page.text
    cells = re.findall(r'<td><a href="(/why\?[^"]+)"', page.text)
    assert len(cells) > 60 and all("model=" in cell and "on=" in cell for cell in cells)


def test_more_users_and_longer_contexts_fit_less(get):
    """The cache grows with both: what fits shrinks, and never grows."""
    counts = [
        get(f"/?precision=fp8&context={context}&sequences={users}").text.count('class="rf-verdict rf-fits"')
        for context, users in ((8192, 1), (8192, 16), (131072, 16))
    ]
    assert counts[0] > counts[1] > counts[2]


def test_a_cell_and_its_reason_agree(get):
    """The page behind a computed cell answers with the cell's verdict."""
    page = get("/?context=32768&sequences=4").text
    found = re.findall(r'<td><a href="(/why\?[^"]+)"><span class="rf-verdict rf-(\w+)"', page)
    assert len(found) > 60
    for address, verdict in found[::9]:
        answer = get(address.replace("&amp;", "&").replace("/why?", "/why.json?")).json()
        assert answer["verdict"] == verdict or (verdict == "no" and answer["verdict"] == "no"), address


def test_the_stored_matrix_is_the_computed_one(get):
    """The same figures, asked for or not, have the same verdicts."""
    stored, computed = get("/?context=8192").text, get("/?context=8191").text
    pattern = r'rf-verdict rf-(\w+)" title'
    one, other = re.findall(pattern, stored), re.findall(pattern, computed)
    assert len(one) == len(other)
    assert sum(a != b for a, b in zip(one, other, strict=True)) <= len(one) * 0.03


@pytest.mark.parametrize(
    ("query", "status", "kept"),
    [
        ("context=many", 400, 'value="many"'),
        ("sequences=0", 400, 'value="0"'),
        ("precision=banana", 404, '<option value="banana" selected>'),
        ("context=" + "9" * 300, 400, "characters"),
    ],
)
def test_a_bad_figure_keeps_the_form(get, query, status, kept):
    """400 or 404, with what was typed."""
    page = get(f"/?{query}")
    assert page.status_code == status and kept in page.text and 'role="alert"' in page.text


def test_the_matrix_can_be_sent_on(get):
    """Picture, CSV and JSON hold the cells of the page; each cell of the picture has colour, words and its reason."""
    asked = "context=32768&sequences=4"
    page, picture = get(f"/?{asked}").text, get(f"/matrix.svg?{asked}")
    body = get(f"/matrix.json?{asked}").json()
    rows = list(csv.DictReader(io.StringIO(get(f"/matrix.csv?{asked}").text)))
    root = ElementTree.fromstring(picture.text)
    cells = [one for one in root.iter("{http://www.w3.org/2000/svg}a") if one.get("class")]

    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert len(cells) == len(rows) == len(body["results"]) == len(re.findall(r"<td><a href", page))
    assert [one.get("class") for one in cells] == [row["verdict"] for row in rows]
    assert all(one.get("href").startswith("/why?") and "".join(one.itertext()).strip() for one in cells)
    assert "32768 tokens, 4 sequences" in picture.text and f"/matrix.svg?{asked}" in page.replace("&amp;", "&")


@pytest.mark.parametrize(("kind", "status"), [(".svg", 400), (".csv", 400), (".json", 400), ("", 400)])
def test_a_matrix_of_nothing_says_so(get, kind, status):
    """A bad figure answers 400 in every form."""
    answer = get(f"/matrix{kind}?context=many")
    assert answer.status_code == status and "context" in answer.text
