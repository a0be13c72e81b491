"""Three clicks from the front page: does it fit, why, what would make it fit, at what cost, and a file to send on."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def words(tab: Any, where: str) -> str:
    """Return what a part of the page says."""
    return " ".join(tab.locator(where).first.inner_text().split())


def test_from_the_front_page_to_a_price(site: str, tab: Any) -> None:
    """A cell that says no; what would make it fit; at what cost. Every address is a link to send on."""
    tab.goto(site)
    tab.locator(".rf-matrix td a:has(.rf-no)").last.click()
    assert "no" in words(tab, "h1 .rf-verdict")
    assert {"weights", "kv", "total", "usable", "margin"} <= set(re.findall(r"\w+", words(tab, ".rf-terms")))
    tab.locator("h2:has-text('What would make it fit') + ul a").last.click()
    assert re.search(r"fits|tight", words(tab, "h1 .rf-verdict"))
    tab.get_by_role("link", name="At what cost?").last.click()
    said = words(tab, "[role=main]")
    assert "per hour" in said and re.search(r"USD|EUR", said) and re.search(r"\d+\.\d\d", said)
    assert "/cost?" in tab.url and "model=" in tab.url and "on=" in tab.url
    assert not tab.complaints


def test_the_answer_is_taken_away_as_a_file(site: str, tab: Any, tmp_path: Path) -> None:
    """The file of an answer opens as a table that names model and hardware."""
    tab.goto(f"{site}/why?model=qwen%2Fqwen3-32b&on=4x+nvidia-rtx-4090")
    with tab.expect_download() as taken:
        tab.get_by_role("link", name="CSV", exact=True).last.click()
    taken.value.save_as(tmp_path / "answer.csv")
    rows = list(csv.reader((tmp_path / "answer.csv").open(encoding="utf-8-sig", newline="")))
    assert len(rows) > 1 and any("qwen3-32b" in cell for row in rows for cell in row)


def test_the_same_by_keyboard_and_search(site: str, tab: Any) -> None:
    """The search box is reached by the tabulator key; a name and Enter lead to the record, its form to the answer."""
    tab.goto(site)
    for _ in range(40):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "rf-q":
            break
    tab.keyboard.type("qwen3-32b")
    tab.keyboard.press("Enter")
    tab.wait_for_url(re.compile(r"/(search|model)"))
    if "/search" in tab.url:
        tab.get_by_role("link", name=re.compile("Qwen3-32B", re.I)).first.click()
    assert tab.url.endswith("/model/qwen/qwen3-32b")
    tab.locator("form input[name=on]").first.fill("2x h100-sxm5-80gb")
    tab.keyboard.press("Enter")
    tab.wait_for_url(re.compile(r"/why\?"))
    assert "fits" in words(tab, "h1 .rf-verdict")
