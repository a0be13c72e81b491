"""Every link of the site leads somewhere.

From each page of tests/site.toml all links are taken. Those of one shape (same page or table, same parameters) are
answered by the same code, so that a few of each are followed. With RACKFIT_CRAWL=whole each one is, and so are the
links of every page that is reached, until nothing new is left: some ten thousand pages, half an hour.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

import pytest

SITE = tomllib.loads((Path(__file__).parents[1] / "site.toml").read_text(encoding="utf-8"))
SEEDS = [*SITE["pages"], *SITE["fit_tables"], *SITE["tables"], *SITE["wrong"]]
WHOLE = os.environ.get("RACKFIT_CRAWL") == "whole"
OF_EACH_SHAPE = 8

HOST = "http://localhost"
ADDRESS = re.compile(r'<(?!form\b)[^>]*?\s(?:href|src)="([^"]*)"')
NAMED = re.compile(r'\s(?:id|name)="([^"]+)"')
PAGES_OF_RECORDS = ("model", "hardware", "system", "accuracy")


def links(page: str, text: str) -> list[str]:
    """Return the addresses on this host that a page links to, without what stands behind a hash."""
    found = (urldefrag(urljoin(HOST + page, html.unescape(address)))[0] for address in ADDRESS.findall(text))
    return [address.removeprefix(HOST) for address in found if address.startswith(HOST + "/")]


def shape(address: str) -> tuple[str, ...]:
    """Return what links have in common that the same code answers."""
    parts = urlsplit(address)
    folders = parts.path.strip("/").split("/")
    if folders[0] in PAGES_OF_RECORDS and len(folders) > 1:
        folders = [folders[0], "*"]
    if folders[0] == "catalog" and len(folders) > 2:
        folders = [*folders[:2], "*"]
    return ("/".join(folders), *sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))


def spread(addresses: list[str]) -> list[str]:
    """Return a few of many, evenly spread over them."""
    step = max(1, -(-len(addresses) // OF_EACH_SHAPE))
    return addresses[::step]


def chosen(addresses: Iterable[str]) -> list[str]:
    """Return the links to follow: all, or a few of each shape. The file itself is not downloaded."""
    unique = [address for address in dict.fromkeys(addresses) if not address.endswith(".db")]
    if WHOLE:
        return unique
    shapes = defaultdict(list)
    for address in unique:
        shapes[shape(address)].append(address)
    return [address for same in shapes.values() for address in spread(same)]


def leads_somewhere(answer) -> bool:
    """Return whether an answer is what was promised; a file too large for one answer says how to take it instead."""
    told = answer.status_code == 400 and answer.url.path.endswith((".csv", ".xlsx")) and "rackfit export" in answer.text
    return answer.status_code == 200 or told


async def dead_links(client) -> tuple[int, list[str]]:
    """Return how many addresses were followed, and those that do not answer with the page they were found on."""
    found_on: dict[str, str] = {}
    for page in SEEDS:
        answer = await client.get(page, follow_redirects=True)
        for address in links(page, answer.text):
            found_on.setdefault(address, page)
    waiting, seen, dead = chosen(found_on), set(found_on), []
    for address in waiting:
        answer = await client.get(address, follow_redirects=True)
        if not leads_somewhere(answer):
            dead.append(f"{answer.status_code} {address} on {found_on[address]}")
        elif WHOLE and "html" in answer.headers["content-type"] and "_next=" not in address:
            new = [link for link in links(address, answer.text) if link not in seen and not link.endswith(".db")]
            found_on |= dict.fromkeys(new, address)
            seen |= set(new)
            waiting += dict.fromkeys(new)
    return len(waiting), dead


def test_links_lead_somewhere(served):
    """No link of the listed pages, and with RACKFIT_CRAWL=whole none of the whole site, is dead."""
    followed, dead = asyncio.run(dead_links(served.client))
    assert not dead, "\n".join(dead)
    assert followed > 300


@pytest.mark.parametrize("page", SITE["pages"])
def test_places_on_a_page_exist(get, page):
    """What stands behind a hash is on the page."""
    text = get(page).text
    places = {html.unescape(name) for name in NAMED.findall(text)}
    wanted = {html.unescape(address[1:]) for address in ADDRESS.findall(text) if re.match(r"#.", address)}
    assert wanted <= places
