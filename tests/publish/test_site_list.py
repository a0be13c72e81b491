"""The list of the site's pages: every route of the plugin is in it, and every page in it answers as it says."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import datasette.app  # noqa: F401  loads the plugins, ours among them
import pytest

from rackfit.publish.plugin import register_routes

SITE = tomllib.loads((Path(__file__).parents[1] / "site.toml").read_text(encoding="utf-8"))
LISTED = [*SITE["pages"], *SITE["data"], *SITE["fit_tables"], *SITE["tables"]]


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in register_routes()])
def test_every_route_is_listed(pattern):
    """A new page is opened by browser tests, crawl and benchmark: it needs a line in tests/site.toml."""
    assert any(re.search(pattern, path.partition("?")[0]) for path in LISTED), f"tests/site.toml lacks {pattern}"


@pytest.mark.parametrize("path", LISTED)
def test_listed_pages_answer(get, path):
    """Each of them with status 200."""
    assert get(path).status_code == 200


@pytest.mark.parametrize(("path", "status"), SITE["wrong"].items())
def test_wrong_requests_keep_their_page(get, path, status):
    """A wrong request has its status, says what is wrong in words, and no stack trace."""
    answer = get(path)
    assert answer.status_code == status
    assert "rf-problem" in answer.text and "Traceback" not in answer.text


def test_pictures_are_of_listed_pages():
    """The pictures of docs/screenshots are all there, of pages that the tests open, and together below 1.5 MB."""
    docs = Path(__file__).parents[2] / "docs"
    pictures = runpy.run_path(str(docs / "screenshots.py"))["PICTURES"]
    assert {path for path, _, _ in pictures.values()} <= set(LISTED)
    files = list((docs / "screenshots").glob("*.png"))
    assert {file.stem for file in files} == pictures.keys()
    assert sum(file.stat().st_size for file in files) < 1_500_000
    shown = (docs / "screenshots.md").read_text(encoding="utf-8")
    assert all(f"(screenshots/{name}.png)" in shown for name in pictures)
