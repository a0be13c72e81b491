"""Every page at the widths of a desk and of a phone, in light and dark: it fits, is quiet, and axe finds no fault."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SITE = tomllib.loads((Path(__file__).parents[1] / "site.toml").read_text(encoding="utf-8"))
TABLES = [f"{path}{'&' if '?' in path else '?'}_size=10" for path in (*SITE["tables"], *SITE["fit_tables"])]
"""Ten rows lie as fifty do, and axe-core looks at every cell."""
SHOWN = [*((path, 200) for path in (*SITE["pages"], *TABLES)), *SITE["wrong"].items()]

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LAPTOP = {"width": 1366, "height": 768}
GRAVE = {"serious", "critical"}
"""Impacts of axe-core that fail a page, https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md."""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDEST = """() => [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
    .filter(one => !one.closest('.rf-scroll, .table-wrapper, pre'))
    .slice(0, 3).map(one => one.outerHTML.slice(0, 120))"""


def faults(page: Any) -> list[str]:
    """Return the grave violations that axe-core finds, each with its rule, an element and what to do."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:240]}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"][:2]
    ]


@pytest.mark.parametrize(("path", "status"), SHOWN, ids=[path for path, _ in SHOWN])
def test_page(site: str, tab: Any, path: str, status: int) -> None:
    """The page answers, never scrolls sideways, logs no error and has no grave fault, in both schemes and widths."""
    for width, checked_in in ((DESK, "light"), (PHONE, "dark")):
        tab.set_viewport_size(width)
        answer = tab.goto(site + path)
        assert answer.status == status
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            assert tab.evaluate(OVERFLOW) <= 0, f"{width['width']} px, {scheme}: too wide is {tab.evaluate(WIDEST)}"
            if scheme == checked_in:
                assert not faults(tab), f"{width['width']} px, {scheme}"
    expected = [text for text in tab.complaints if f"status of {status}" in text] if status >= 400 else []
    assert tab.complaints == expected


def test_sources_fit_a_laptop(site: str, tab: Any) -> None:
    """Trial R121: addresses of 90 to 300 characters do not stretch the table of sources (datasette issue 1805)."""
    tab.set_viewport_size(LAPTOP)
    tab.goto(f"{site}/catalog/sources")
    assert tab.evaluate("document.querySelector('.rows-and-columns').scrollWidth") <= LAPTOP["width"]
    longest = tab.evaluate("Math.max(...[...document.querySelectorAll('td.col-url a')].map(one => one.href.length))")
    assert longest > 90
