"""Every page with a table gives it as CSV and as workbook, with the same cells and the same refusals."""

from __future__ import annotations

import csv
import io
import itertools
import re

import openpyxl
import pytest

DIGITS = 1e-15
"""A workbook is written with 16 digits of a number, CSV with the 17 that give it back."""
PAGES = (
    ("/zero", "model=llama-3.1-8b", "model=llama-3.1-9b"),
    ("/speed", "model=qwen3-32b&on=2x+rtx-4090", "model=qwen3-32b&on=rtx-4091"),
    ("/cost", "model=qwen3-8b&on=rtx-4090", "model=qwen3-8b&on=rtx-4091"),
    ("/plan", "model=qwen3-8b&limit=5", "model=qwen3-9b"),
    ("/accuracy", "kind=K1", "kind=K99"),
    ("/sources", "class=vendor", "class=nothing"),
    ("/compare", "items=rtx-4090,rtx-3090", "items=rtx-4090,rtx-3091"),
    ("/quote", "models=qwen3-8b&on=rtx-4090", "models=qwen3-9b"),
    ("/train", "model=llama-3.1-8b&on=8x+h100-sxm5-80gb", "model=llama-3.1-9b&on=h100"),
    ("/why", "model=qwen3-8b&on=rtx-4090", "model=qwen3-9b&on=rtx-4090"),
)
"""Page, a question with an answer, one without."""
ONE_QUESTION = ("/zero", "/speed", "/cost", "/plan", "/quote")
"""Pages that answer through `respond`."""


@pytest.mark.parametrize(("page", "asked", "wrong"), PAGES)
def test_both_files_have_the_same_cells(get, page, asked, wrong):
    """Headers and cells of the workbook are those of the CSV; numbers are numbers; the page links to both."""
    plain = list(csv.reader(io.StringIO(get(f"{page}.csv?{asked}").text, newline="")))
    answer = get(f"{page}.xlsx?{asked}")
    assert answer.status_code == 200 and answer.headers["content-disposition"].endswith('.xlsx"')
    sheet = openpyxl.load_workbook(io.BytesIO(answer.content))["data"]
    assert sheet.max_row == len(plain) and [cell.value for cell in sheet[1]] == plain[0]
    for texts, cells in zip(plain[1:], sheet.iter_rows(min_row=2), strict=True):
        for text, cell in zip(texts, cells, strict=True):
            if cell.value is None or cell.data_type in ("f", "d"):
                continue
            if cell.data_type == "n":
                assert float(text) == pytest.approx(cell.value, rel=DIGITS)
            else:
                assert text.removeprefix("'") == str(cell.value).removeprefix("'")
    text = get(f"{page}?{asked}").text
    assert re.search(rf'href="{page}\.csv\?', text) and re.search(rf'href="{page}\.xlsx\?', text)


@pytest.mark.parametrize(("page", "asked"), [(page, asked) for page, asked, _ in PAGES if page in ONE_QUESTION])
def test_a_spreadsheet_with_decimal_commas_opens_it_in_columns(get, page, asked):
    """Mark, semicolons and 1,5: the same cells as the plain CSV has."""
    plain = list(csv.reader(io.StringIO(get(f"{page}.csv?{asked}").text, newline="")))
    comma = get(f"{page}.csv?{asked}&_locale=comma").content.decode("utf-8")

    assert comma.startswith("\ufeff")
    found = list(csv.reader(io.StringIO(comma.removeprefix("\ufeff"), newline=""), delimiter=";"))
    assert found[0] == plain[0] and len(found) == len(plain)
    pairs = zip(itertools.chain(*found), itertools.chain(*plain), strict=True)
    assert any("," in cell and cell != other and cell.replace(",", ".") == other for cell, other in pairs)


@pytest.mark.parametrize(("page", "asked", "wrong"), PAGES)
def test_files_refuse_what_the_page_refuses(get, page, asked, wrong):
    """The same status and one line of text."""
    status = get(f"{page}?{wrong}").status_code
    assert status in (400, 404)
    for ending in ("csv", "xlsx"):
        answer = get(f"{page}.{ending}?{wrong}")
        assert answer.status_code == status and answer.headers["content-type"].startswith("text/plain")
        assert answer.text.count("\n") == 1
