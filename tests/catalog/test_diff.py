"""Two catalogs beside each other: what is gone, new and changed, and which verdicts flipped."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rackfit.assemble import build
from rackfit.catalog.diff import ADDED, CHANGED, REMOVED, Difference, compare
from rackfit.errors import CatalogError

CARD = "accelerators/nvidia/nvidia-rtx-4090.toml"


def built(data: Path, target: Path) -> Path:
    """Build a small catalog."""
    return build(target, [data], must_exist=False).target


def edit(path: Path, old: str, new: str) -> None:
    """Change a record."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def difference(data: Path, tmp_path: Path, old: Path) -> Difference:
    """Build the data as it is now and compare."""
    return compare(old, built(data, tmp_path / "new.db"), None)


@pytest.fixture
def old(small_data: Path, tmp_path: Path) -> Path:
    """The catalog before."""
    return built(small_data, tmp_path / "old.db")


def test_the_same_data_has_no_difference(small_data: Path, tmp_path: Path, old: Path) -> None:
    """Same files: no change, no flip, and nothing that only one of them has."""
    found = difference(small_data, tmp_path, old)

    assert (found.changes, found.flips, found.flip_counts, found.not_compared) == ((), (), {}, ())


def test_a_fact_and_the_verdicts_that_rest_on_it(small_data: Path, tmp_path: Path, old: Path) -> None:
    """A card with a third of its memory: the fields that say so, and only verdicts of that card, only for the worse."""
    edit(small_data / CARD, "memory_gb = 24", "memory_gb = 8")
    edit(small_data / CARD, "usable_memory_bytes = 25757220864", "usable_memory_bytes = 8585740288")
    found = difference(small_data, tmp_path, old)

    changed = {change.field: (change.old, change.new) for change in found.changes if change.table == "accelerators"}
    assert changed["usable_memory_bytes"] == (25757220864, 8585740288)
    assert {change.change for change in found.changes if change.table == "accelerators"} == {CHANGED}
    assert found.flips and sum(found.flip_counts.values()) == len(found.flips)
    assert all("rtx-4090" in flip.configuration for flip in found.flips)
    assert {(flip.old, flip.new) for flip in found.flips} <= {("fits", "no"), ("fits", "tight"), ("tight", "no")}


def test_a_record_that_is_gone_is_listed_and_said_by_the_build(small_data: Path, tmp_path: Path, old: Path) -> None:
    """R131: records that disappear are named, by the comparison and by the build that replaces the file."""
    (small_data / "models/mistralai/mistral-7b-v0.1.toml").unlink()
    found = difference(small_data, tmp_path, old)
    report = build(old, [small_data], must_exist=False)

    gone = {(change.table, change.key) for change in found.changes if change.change == REMOVED}
    assert ("models", "mistralai/mistral-7b-v0.1") in gone
    assert list(report.lost["models"]) == ["mistralai/mistral-7b-v0.1"]


def test_a_record_that_is_new(small_data: Path, tmp_path: Path, old: Path) -> None:
    """The other way round nothing is lost."""
    new = built(small_data, tmp_path / "new.db")
    (small_data / "models/mistralai/mistral-7b-v0.1.toml").unlink()
    fewer = built(small_data, tmp_path / "fewer.db")
    found = compare(fewer, new, None)

    assert ("models", "mistralai/mistral-7b-v0.1", ADDED) in {
        (change.table, change.key, change.change) for change in found.changes
    }


def test_rows_without_a_lasting_key(small_data: Path, tmp_path: Path, old: Path) -> None:
    """A price is a row of its own: one gone, one new, told by all that they say."""
    prices = small_data / "prices/cloud.csv"
    lines = prices.read_text(encoding="utf-8").splitlines(keepends=True)
    prices.write_text("".join(lines[:-1]), encoding="utf-8")
    found = difference(small_data, tmp_path, old)

    assert [change.change for change in found.changes if change.table == "offers"] == [REMOVED]


def test_local_rows_are_no_difference(small_data: Path, tmp_path: Path, old: Path) -> None:
    """What a buyer imported is not what a release says."""
    new = built(small_data, tmp_path / "new.db")
    with sqlite3.connect(new) as connection:
        connection.execute("update offers set origin = 'local' where offer_id = (select max(offer_id) from offers)")
    connection.close()

    assert {change.change for change in compare(old, new, None).changes if change.table == "offers"} == {REMOVED}


def test_another_schema_is_compared_as_far_as_it_goes(small_data: Path, tmp_path: Path, old: Path) -> None:
    """A column that only one has is named; the others are compared."""
    new = built(small_data, tmp_path / "new.db")
    with sqlite3.connect(old) as connection:
        connection.execute("alter table systems add column colour text")
        connection.execute("pragma user_version = 1")
    connection.close()
    found = compare(old, new, None)

    assert found.changes == ()
    assert found.not_compared == ("systems.colour",)


@pytest.mark.parametrize("content", [None, b"", b"hello" * 300])
def test_what_is_no_catalog(old: Path, tmp_path: Path, content: bytes | None) -> None:
    """A missing file, an empty one and another one are refused in one line that names it."""
    other = tmp_path / "other.db"
    if content is not None:
        other.write_bytes(content)
    with pytest.raises(CatalogError, match=r"other\.db") as raised:
        compare(other, old, None)
    assert "\n" not in str(raised.value)
