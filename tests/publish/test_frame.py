"""What goes out with every page: language, main part, names of controls, meanings on hover, compression."""

from __future__ import annotations

import asyncio
import re

import pytest

from rackfit.publish.frame import complete


@pytest.mark.parametrize("path", ["/", "/catalog", "/catalog/accelerators", "/catalog?sql=select+1", "/nothing-here"])
def test_every_page_names_its_language(get, path):
    """Once, Datasette's own pages and those of errors too."""
    assert len(re.findall(r'<html lang="en">', get(path).text)) == 1


def test_controls_of_a_table_have_names(get):
    """A screen reader says what each select and field is for."""
    text = get("/catalog/accelerators?vendor=nvidia&_nofacet=1").text
    for control in re.findall(r"<(?:select|input)[^>]*>", text):
        if 'name="_filter' in control or 'name="_sort"' in control:
            assert "aria-label=" in control, control


def test_columns_say_what_they_mean_on_hover(get):
    """With their unit, on tables and on named queries."""
    assert re.search(r'<th title="[^"]*\(W\)"[^>]*data-column="tdp_w"', get("/catalog/accelerators").text)
    found = get("/catalog/devices_by_bandwidth_per_watt").text
    assert re.search(r'<th class="col-tdp_w" scope="col" title="[^"]*\(W\)">tdp_w</th>', found)


def test_unknown_columns_and_complete_pages_stay():
    """A column of somebody's own SQL has no title, and completing twice changes nothing."""
    page = '<html><section class="content"><th class="col-mine" scope="col">mine</th>'
    once = complete(page)
    assert complete(once) == once
    assert '<th class="col-mine" scope="col">mine</th>' in once


def test_pages_are_compressed_for_who_takes_it(get, served):
    """Text is; and whoever does not ask for it gets it plain."""
    assert get("/").headers["content-encoding"] == "gzip"
    plain = asyncio.run(served.client.get("/", headers={"accept-encoding": "identity"}))
    assert "content-encoding" not in plain.headers and plain.text == get("/").text
    assert len(plain.content) < 50_000


def test_names_of_foreign_keys_stand_beside_their_pages(get):
    """Tables show the name of what a key points to, with a link to the page that people read."""
    text = get("/catalog/best_fits?model_id=qwen%2Fqwen3-32b&_size=5").text
    assert '<a href="/model/qwen/qwen3-32b">Qwen3-32B</a> <em>qwen/qwen3-32b</em>' in text
    assert "/catalog/configurations?configuration_id__exact=" in text
