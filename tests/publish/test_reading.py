"""Glossary and sources: what the terms mean, where the facts are from, and that every link leads somewhere."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter

import pytest

FOLLOWED = ("/model/", "/hardware/", "/system/", "/compare", "/glossary", "/sources", "/search")
"""Pages whose links are followed."""

MOST_PAGES = 60
MOST_OF_A_KIND = 12
"""Links tried from one page, by the first part of their address."""


def test_bytes_per_parameter_are_those_of_the_chapter(get):
    """FP32 4, BF16 2, INT8 and FP8 1, 4-bit 0.5 bytes before scales; 70B in 16 bits 140 GB, 405B 810 GB."""
    formats = {row["precision_id"]: row for row in get("/glossary.json").json()["formats"]}
    expected = {"fp32": 4, "bf16": 2, "fp16": 2, "int8_w8a8": 1, "bnb_nf4": 0.5, "nvfp4": 0.5}
    assert {name: formats[name]["nominal_bytes_per_param"] for name in expected} == expected
    assert formats["bf16"]["bytes"]["70"] == 140e9 and formats["bf16"]["bytes"]["405"] == 810e9
    assert all(formats[name]["bytes_per_param"] > 0.5 for name in ("bnb_nf4", "nvfp4", "mxfp4"))


def test_zero_stages_are_those_of_the_paper(get):
    """4 + 12/N, 2 + 14/N, 16/N bytes per parameter (Rajbhandari et al., ZeRO, 2019); 7B x 16 = 112 GB of state."""
    body = get("/glossary.json").json()
    assert [row["formula"] for row in body["zero"]] == ["16", "4 + 12/N", "2 + 14/N", "16/N"]
    assert [row["at"]["64"] for row in body["zero"]] == [16, 4 + 12 / 64, 2 + 14 / 64, 0.25]
    state = next(row for row in body["recipes"] if row["recipe_id"] == "adam_mixed_16")
    assert state["bytes"]["7"] == 112e9


def test_links_have_one_direction_and_both_apart(get):
    """NVLink 4: 450 GB/s one way, 900 both (H100 data sheet); PCIe 5.0 x16: 63 one way (PCI-SIG, 128b/130b)."""
    links = {row["interconnect_id"]: row for row in get("/glossary.json").json()["links"]}
    assert (links["nvlink-4"]["per_direction_gb_s"], links["nvlink-4"]["total_gb_s"]) == (450, 900)
    assert links["pcie-gen5-x16"]["per_direction_gb_s"] == pytest.approx(63, abs=0.1)


def test_the_chip_is_faster_than_its_memory(get):
    """A100: 192 KB per unit, about 19 TB/s on the chip, about ten times its memory (FlashAttention paper)."""
    body = get("/glossary.json").json()
    device = next(row for row in body["levels"] if row["id"] == "nvidia-a100-sxm4-80gb")
    assert device["ratio"] == pytest.approx(10, rel=0.1)
    assert body["attention"]["bytes"] == pytest.approx(34e9, rel=0.02)
    page = get("/glossary")
    assert page.status_code == 200 and "19.5 TB/s" in page.text and "34.4 GB" in page.text


def test_terms_have_anchors_of_their_own(get):
    """A term can be linked to, and no two share an address."""
    terms = [term for section in get("/glossary.json").json()["sections"] for term in section["term"]]
    assert len(terms) > 30 and len({term["anchor"] for term in terms}) == len(terms)
    text = get("/glossary").text
    assert all(f'id="{term["anchor"]}"' in text for term in terms)


def test_sources_are_counted_by_class(get, connection):
    """The counts are those of the tables; every dispute is listed with its reason."""
    body = get("/sources.json").json()
    assert sum(row["sources"] for row in body["classes"]) == len(body["sources"])
    facts = connection.execute("select count(*) from provenance").fetchone()[0]
    assert sum(row["facts"] for row in body["classes"]) == facts
    assert len(body["disputes"]) == connection.execute("select count(*) from disputes").fetchone()[0]
    page = get("/sources").text
    assert all(html.escape(row["key"]) in page for row in body["disputes"])


def test_sources_of_one_class_and_as_csv(get):
    """A class lists its sources; the CSV has one line for each."""
    body = get("/sources.json?class=paper").json()
    assert {row["source_class"] for row in body["sources"]} == {"paper"}
    lines = list(csv.reader(io.StringIO(get("/sources.csv?class=paper").text)))
    assert len(lines) == len(body["sources"]) + 1
    bad = get("/sources?class=nonsense")
    assert bad.status_code == 400 and "expected one of" in bad.text and 'value="nonsense" selected' in bad.text
    assert get("/sources.json?class=nonsense").status_code == 400


def _links(text: str) -> list[str]:
    """Return the addresses on this site that a page links to."""
    found = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', text)]
    return list(dict.fromkeys(link for link in found if link.startswith("/") and not link.startswith(("/-/", "//"))))


def _some(links: list[str]) -> list[str]:
    """Return the first links of each kind."""
    seen: Counter[str] = Counter()
    chosen = []
    for link in links:
        kind = "/".join(re.split(r"[/?#]", link)[:3]) if link.startswith("/catalog") else re.split(r"[/?#]", link)[1]
        seen[kind] += 1
        if seen[kind] <= MOST_OF_A_KIND:
            chosen.append(link)
    return chosen


def test_every_link_leads_somewhere(get):
    """From the front page and one page of each kind, links answer 200; fragments name something on their page."""
    starts = ["/", "/model/qwen/qwen3-next-80b-a3b-instruct", "/hardware/nvidia-h100-sxm5-80gb"]
    starts += ["/hardware/apple-m4-max-40c", "/system/nvidia-dgx-h100", "/compare?items=rtx-4090,rtx-3090", "/glossary"]
    starts += ["/sources", "/search?q=h100", "/compare"]
    first = [link for link in _links(get("/").text) if link.startswith(FOLLOWED)]
    tried: dict[str, int] = {}
    for page in dict.fromkeys([*starts, *first[: MOST_PAGES - len(starts)]]):
        answer = get(page)
        assert answer.status_code == 200, page
        for link in _some(_links(answer.text)):
            address = link.partition("#")[0]
            if address not in tried:
                tried[address] = get(address).status_code
            assert tried[address] == 200, f"{page} -> {link}"
        for name in re.findall(r'href="#([^"]+)"', answer.text):
            assert f'id="{name}"' in answer.text, f"{page} -> #{name}"
    assert len(tried) > 150


def test_pages_read_without_scripts_and_are_labelled(get):
    """Every picture has a text alternative, every input a label, no page loads anything from elsewhere."""
    for page in (
        "/model/qwen/qwen3-8b",
        "/hardware/nvidia-h100-sxm5-80gb",
        "/compare?items=rtx-4090,rtx-3090",
        "/glossary",
    ):
        text = get(page).text
        content = text.partition('<section class="content" role="main">')[2].partition("</section>")[0]
        assert '<html lang="en">' in text and content
        for picture in re.findall(r"<svg[^>]*>", content):
            assert 'aria-label="' in picture or 'aria-hidden="true"' in picture, picture
        for field in re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', content):
            assert f'for="{field}"' in content
        assert "<script" not in content and not re.search(r'(?:src|@import)\s*=?\s*"https?:', content)
