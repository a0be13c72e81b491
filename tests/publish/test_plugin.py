"""The plugin over HTTP: what a visitor of the site gets."""

from __future__ import annotations

import asyncio
import re
import sqlite3

import pytest

from rackfit.publish import named_queries
from rackfit.publish.tables import HIDDEN, TABLES

QUERIES = named_queries.read()


def test_the_plugin_is_loaded_by_its_entry_point_alone(get):
    """No other plugin is needed, and ours brings its templates and style."""
    plugins = get("/-/plugins.json").json()
    own = next(plugin for plugin in plugins if plugin["name"] == "rackfit")
    assert own["static"] and own["templates"]


def test_the_home_page_says_what_this_is_and_where_to_start(get):
    """A matrix with verdicts in words, a form, counts, queries and the release stand on the first page."""
    page = get("/")
    assert page.status_code == 200
    for text in (
        "Does this language model fit this hardware?",
        'action="/why"',
        "Llama 3.1 8B",
        "</span> fits",
        "CC BY",
    ):
        assert text in page.text
    assert page.text.count('class="rf-verdict') > 40


@pytest.mark.parametrize("path", ["/", "/why", "/catalog/accelerators", "/catalog/inference_fits"])
def test_nothing_on_a_page_comes_from_elsewhere(get, path):
    """Every address of style, script and image is on this host: the site works without a network."""
    loaded = re.findall(r'<(?:script|link|img)[^>]*?(?:src|href)="([^"]+)"', get(path).text)
    assert loaded
    for address in loaded:
        assert address.startswith(("/", "http://localhost/")), address


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_has_a_page_with_its_description(get, table):
    """Each table and view opens, and says what it is."""
    page = get(f"/catalog/{table}?_nofacet=1")
    assert page.status_code == 200
    assert TABLES[table].description.split(".")[0][:40].replace("&", "&amp;") in page.text


@pytest.mark.parametrize("table", [name for name, guide in TABLES.items() if guide.facets])
def test_facets_answer_within_their_time(get, table):
    """The facets that a table starts with are all there."""
    found = get(f"/catalog/{table}.json?_size=1&_extra=facet_results,facets_timed_out").json()
    assert not found.get("facets_timed_out")
    facets = found["facet_results"]
    assert set(TABLES[table].facets) <= set(facets.get("results", facets))


@pytest.mark.parametrize("table", [name for name, guide in TABLES.items() if guide.sortable])
def test_large_views_are_sorted_over_all_rows(get, table):
    """Each column that a view offers to sort by answers, up and down, without a filter."""
    for column in TABLES[table].sortable:
        for order in ("_sort", "_sort_desc"):
            found = get(f"/catalog/{table}.json?_shape=array&_size=5&_nofacet=1&{order}={column}")
            assert found.status_code == 200, f"{table} {order} {column}"
            values = [row[column] for row in found.json() if row[column] is not None]
            assert values == sorted(values, reverse=order == "_sort_desc")


def test_every_table_of_the_catalog_is_described_or_hidden(served):
    """A new table cannot be forgotten."""
    database = served.databases["catalog"]
    names = asyncio.run(database.table_names()) + asyncio.run(database.view_names())
    shown = [name for name in names if name not in HIDDEN and not name.startswith("sqlite_")]
    assert sorted(shown) == sorted(TABLES)


def test_internal_tables_are_hidden(get):
    """The numbers behind the views are not among the tables."""
    text = get("/catalog").text
    assert 'href="/catalog/inference_fits"' in text
    assert 'href="/catalog/inference_cells"' not in text


@pytest.mark.parametrize("slug", sorted(QUERIES))
@pytest.mark.parametrize("filled", [True, False])
def test_every_named_query_answers(get, slug, filled):
    """With its example and with every parameter left empty."""
    query = QUERIES[slug]
    arguments = query.example if filled else ""
    answer = get(f"/catalog/{slug}.json?_shape=array&{arguments}")
    assert answer.status_code == 200, answer.text[:500]
    rows = answer.json()
    assert isinstance(rows, list)
    if slug != "worst_estimates":
        assert rows, f"{slug} has no rows"


@pytest.mark.parametrize("slug", sorted(QUERIES))
def test_every_named_query_explains_itself(get, slug):
    """Title, description and each parameter stand on the page."""
    query = QUERIES[slug]
    page = get(f"/catalog/{slug}?{query.example}")
    assert page.status_code == 200
    assert query.title.replace("'", "&#39;") in page.text
    for name in query.parameters:
        assert f"<dt>{name}</dt>" in page.text


def test_a_name_nobody_knows_is_one_clear_line_in_sql(get):
    """The reason of a function reaches the page, without a stack trace."""
    for path in (
        "/catalog/where_a_model_fits?model=qwenn3-32b",
        "/catalog.json?sql=select+weights_bytes('qwenn3-32b','bf16')&_shape=array",
    ):
        page = get(path)
        assert "unknown model" in page.text and "did you mean" in page.text
        assert "Traceback" not in page.text and "user-defined function" not in page.text


def test_a_fit_page_shows_verdicts_links_and_sizes(get):
    """On the view, ids lead to their pages or rows and bytes read as GiB with the exact count behind."""
    page = get("/catalog/inference_fits?model_id=qwen/qwen3-8b&verdict=fits&_sort_desc=margin_bytes")
    assert page.status_code == 200
    assert 'class="rf-verdict rf-fits"' in page.text
    assert 'href="/model/qwen/qwen3-8b"' in page.text
    assert "&nbsp;GiB" in page.text and " bytes&#34;" not in page.text


def test_a_value_meant_to_break_the_page_comes_back_as_text(get):
    """Markup in an address is shown, not run."""
    attack = "<script>alert(1)</script>"
    for path in (
        f"/why?model={attack}&on=rtx-4090",
        f"/catalog/inference_fits?model_id={attack}",
        f"/catalog/second_hand_facts?table_name={attack}",
    ):
        page = get(path)
        assert page.status_code < 500
        assert attack not in page.text


def test_parameters_of_queries_are_bound(get):
    """A quote in a parameter is data."""
    rows = get("/catalog/link_speeds.json?_shape=array&family='; drop table sources; --")
    assert rows.status_code == 200 and rows.json() == []


def test_security_headers_come_with_pages_and_errors(get):
    """nosniff, a content security policy and a referrer policy everywhere."""
    for path in ("/", "/catalog/sources", "/why.json?model=x", "/nothing-here"):
        headers = get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"]


def test_the_path_of_the_file_is_not_shown(get, catalog):
    """Neither a pragma nor a status page names the folder on the server."""
    folder = str(catalog.resolve().parent)
    for path in (
        "/catalog.json?sql=select+file+from+pragma_database_list&_shape=array",
        "/-/rackfit",
        "/-/databases.json",
        "/-/databases",
        "/",
    ):
        assert folder not in get(path).text


def test_a_huge_value_is_refused(get):
    """The cap on lengths holds: 600 MB of zeros are not made."""
    answer = get("/catalog.json?sql=select+hex(randomblob(300000000))&_shape=array")
    assert answer.status_code == 400
    assert "too big" in answer.text


def test_writing_is_refused(get):
    """The database is read-only whatever the SQL says."""
    assert get("/catalog.json?sql=delete+from+sources&_shape=array").status_code in (400, 403)


def test_a_cut_list_says_so(get):
    """More rows than a page returns are announced, not dropped in silence."""
    answer = get("/catalog/second_hand_facts.json?_shape=objects")
    assert answer.json()["truncated"] is True


def test_status_names_release_hash_and_counts(get):
    """What is served can be told from outside."""
    body = get("/-/rackfit").json()
    assert body["ok"] and len(body["release"]["logical_hash"]) == 64
    assert body["counts"]["accelerators"] >= 220 and body["counts"]["models"] >= 410


def test_a_plain_database_beside_it_is_left_alone(tmp_path, catalog):
    """A file that is no catalog gets neither our functions nor our queries."""
    from datasette.app import Datasette

    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table things (id integer primary key, model_id text)")
    datasette = Datasette([str(other)])

    async def ask():
        await datasette.invoke_startup()
        query = "/other.json?sql=select+gib(1)&_shape=array"
        return await datasette.client.get(query, follow_redirects=True), await datasette.client.get("/")

    refused, home = asyncio.run(ask())
    assert refused.status_code == 400 and "no such function" in refused.text
    assert home.status_code == 200
