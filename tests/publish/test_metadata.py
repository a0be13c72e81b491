"""Generated metadata and small pieces without a server."""

from __future__ import annotations

import sqlite3

import pytest
from markupsafe import Markup

from rackfit.publish import named_queries, render
from rackfit.publish.metadata import build_metadata, column_text, columns_of, tables_of
from rackfit.publish.settings import SETTINGS, is_catalog
from rackfit.publish.tables import HIDDEN


@pytest.fixture(scope="module")
def connection(catalog):
    """The catalog, read-only."""
    opened = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)
    yield opened
    opened.close()


class Urls:
    """Addresses as Datasette makes them without a base path."""

    def path(self, path):
        """Address of a page."""
        return path

    def database(self, database):
        """Address of a database."""
        return f"/{database}"

    def table(self, database, table):
        """Address of a table."""
        return f"/{database}/{table}"

    def row(self, database, table, row):
        """Address of a row."""
        return f"/{database}/{table}/{row}"


def test_every_shown_column_is_described(connection):
    """No column of any table or view lacks its entry in the field guide."""
    shown = [name for name in tables_of(connection) if name not in HIDDEN and not name.startswith("sqlite_")]
    assert len(shown) > 40
    for table in shown:
        for column in columns_of(connection, table):
            assert column_text(table, column), f"{table}.{column}"


def test_units_stand_in_the_description(connection):
    """A column of watts says so."""
    tables = build_metadata(connection)["databases"]["catalog"]["tables"]
    assert "(W)" in tables["accelerators"]["columns"]["tdp_w"]


def test_facets_sorts_and_labels_name_columns_that_exist(connection):
    """What a table's page starts with is in the table."""
    for table, words in build_metadata(connection)["databases"]["catalog"]["tables"].items():
        columns = {row[1] for row in connection.execute(f'pragma table_info("{table}")')}
        named = {*words.get("facets", []), *words.get("sortable_columns", [])}
        named |= {words[key] for key in ("label_column", "sort", "sort_desc") if key in words}
        assert named <= columns, table


def test_settings_are_those_of_a_public_host():
    """Trial R117: a facet never gets more time than a query, and nothing suggests facets on its own."""
    assert SETTINGS["facet_time_limit_ms"] <= SETTINGS["sql_time_limit_ms"] <= 1000
    assert SETTINGS["suggest_facets"] is False and SETTINGS["max_returned_rows"] <= 1000


def test_a_catalog_is_known_by_its_header(catalog, tmp_path):
    """Other databases, other files and missing files are not taken for one."""
    assert is_catalog(catalog)
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("create table t (x)").connection.close()
    assert not is_catalog(other)
    assert not is_catalog(tmp_path / "missing.db") and not is_catalog(None)


@pytest.mark.parametrize("verdict", ["fits", "tight", "no", "cannot_run"])
def test_a_verdict_is_a_word_and_not_only_a_colour(verdict):
    """The word is in the text; the sign is hidden from screen readers."""
    shown = render.cell(verdict, "verdict", "inference_fits", "catalog", Urls())
    assert verdict.replace("_", " ") in Markup(shown).striptags() and "aria-hidden" in shown


def test_cells_escape_what_they_show():
    """Markup in an id or an address stays text."""
    for value, column in (("<b>x</b>", "model_id"), ("https://x/<script>", "url"), ("<i>", "source_id")):
        shown = str(render.cell(value, column, None, "catalog", Urls()))
        assert "<b>" not in shown and "<script>" not in shown and "<i>" not in shown


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (24 * 2**30, "usable_bytes", "24.00&nbsp;GiB"),
        (-(2**30), "margin_bytes", "-1.00&nbsp;GiB"),
        (131072, "growing_bytes", "128.00&nbsp;KiB"),
        (0, "kv_bytes", "0&nbsp;B"),
        (1, "second_hand", "yes"),
        (None, "tdp_w", "\u2014"),
    ],
)
def test_figures_read_as_people_read_them(value, column, text):
    """Bytes in binary units, flags as words, nothing on record as a dash."""
    assert text in str(render.cell(value, column, "t", "catalog", Urls()))


def test_counts_and_rates_keep_their_figures():
    """Bytes per parameter and plain numbers are left to Datasette."""
    for value, column in ((2.0, "bytes_per_param"), (8, "tp"), (8.5, "effective_bits"), (2.0, "forward_bytes")):
        assert render.cell(value, column, "t", "catalog", Urls()) is None


def test_a_key_leads_to_its_row_and_on_its_own_table_to_its_fits():
    """On its own table an id leads to what fits, on a view to the row."""
    own = render.cell("nvidia-l4", "accelerator_id", "accelerators", "catalog", Urls())
    assert "/catalog/what_runs_on_a_device?device=nvidia-l4" in own
    assert render.cell("bf16", "precision_id", "precisions", "catalog", Urls()) is None
    assert "/hardware/nvidia-l4" in render.cell("nvidia-l4", "accelerator_id", "x", "catalog", Urls())
    assert '"/model/qwen/qwen3-8b"' in render.cell("qwen/qwen3-8b", "model_id", "x", "catalog", Urls())


def test_a_query_file_that_forgets_a_parameter_is_refused():
    """SQL and comments must name the same parameters."""
    with pytest.raises(ValueError, match="SQL names"):
        named_queries.parse("x", "-- title: T\n-- description: D\nselect :model")
    with pytest.raises(ValueError, match="title and description"):
        named_queries.parse("x", "-- title: T\nselect 1")


def test_there_are_enough_named_queries():
    """At least fourteen, each with a title of its own."""
    titles = [query.title for query in named_queries.read().values()]
    assert len(titles) >= 14 and len(set(titles)) == len(titles)


def test_keys_that_become_links_are_keys(connection):
    """What a column of keys holds is in the table that its links lead to; the large views take theirs from tables."""
    tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
    for table in tables:
        for _, column, *_ in connection.execute(f'pragma table_info("{table}")').fetchall():
            target = render.ID_TABLES.get(column)
            if target in (None, table) or (table, column) in render.NAMES:
                continue
            keys = [row[1] for row in connection.execute(f"pragma table_info({target})")]
            key = column if column in keys else column.removeprefix("native_")
            dead = connection.execute(
                f'select "{column}" from "{table}" where "{column}" not in (select "{key}" from {target}) limit 3'
            ).fetchall()
            assert not dead, (table, column, dead)
