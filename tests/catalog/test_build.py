"""Building: the same bytes from the same files, and the old catalog kept whatever goes wrong."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rackfit.catalog import build as build_module
from rackfit.catalog.build import build
from rackfit.catalog.checks import broken_checks
from rackfit.catalog.connect import check_sqlite, open_catalog
from rackfit.catalog.loading import load
from rackfit.catalog.reproducible import logical_hash
from rackfit.errors import BadRecordsError, CatalogError


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where a test's catalog goes."""
    return tmp_path / "out" / "catalog.db"


@pytest.fixture
def built(small_data: Path, target: Path) -> bytes:
    """The bytes of a catalog that stands at the target already."""
    build(target, [small_data], must_exist=False)
    return target.read_bytes()


def _only(target: Path) -> bool:
    """Say whether nothing but the catalog is in its folder."""
    return [path.name for path in target.parent.iterdir()] == [target.name]


def test_same_files_same_bytes(small_data: Path, tmp_path: Path) -> None:
    """Two builds of the same data are the same file, to the byte."""
    first, second = (build(tmp_path / name, [small_data], must_exist=False) for name in ("a.db", "b.db"))
    assert first.target.read_bytes() == second.target.read_bytes()
    assert first.logical_hash == second.logical_hash


def test_the_hash_stands_in_the_release(built: bytes, target: Path) -> None:
    """The release row has the hash of everything but itself, and it can be computed again from the file."""
    connection = open_catalog(target)
    stored = connection.execute("select logical_hash from releases order by date desc").fetchone()[0]
    assert stored == logical_hash(connection)


def test_another_price_is_another_hash(built: bytes, small_data: Path, target: Path) -> None:
    """A changed fact changes the hash."""
    before = open_catalog(target).execute("select logical_hash from releases").fetchone()[0]
    prices = small_data / "prices/cloud.csv"
    lines = prices.read_text().splitlines(keepends=True)
    prices.write_text("".join(lines[:-1]))
    assert build(target, [small_data], must_exist=False).logical_hash != before


def test_progress_is_reported(small_data: Path, target: Path) -> None:
    """The caller hears of every stage, up to its end."""
    heard: dict[str, tuple[int, int]] = {}
    build(target, [small_data], lambda stage, done, total: heard.update({stage: (done, total)}), must_exist=False)
    assert {"read records", "load facts", "write", "check"} <= set(heard)
    assert all(heard[stage][0] == heard[stage][1] for stage in ("read records", "load facts", "write", "check"))


def test_the_report_counts_rows(small_data: Path, target: Path) -> None:
    """The report has the rows of each table and the size of the file."""
    report = build(target, [small_data], must_exist=False)
    assert report.tables["accelerators"] == 3
    assert report.tables["models"] == 2
    assert report.tables["measurements"] == 20
    assert report.size_bytes == target.stat().st_size


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("accelerators/nvidia/broken.toml", "name = \n", "accelerators/nvidia/broken.toml: valid TOML"),
        ("accelerators/nvidia/wrong.toml", 'name = "Wrong"\nvendor = "NVIDIA"\nmemory_gib = 80\n', "memory_gib"),
        (
            "accelerators/nvidia/sourceless.toml",
            'name = "Sourceless"\nvendor = "NVIDIA"\nconfidence = "low"\n[provenance]\n"*" = ["no-such-source"]\n',
            "no-such-source",
        ),
    ],
    ids=["broken TOML", "wrong unit", "unknown source key"],
)
def test_bad_record(built: bytes, small_data: Path, target: Path, file: str, text: str, said: str) -> None:
    """A bad record is named with its file and field, and the old catalog stays."""
    (small_data / file).write_text(text)
    if "no-such-source" in said:
        good = (small_data / "accelerators/nvidia/nvidia-rtx-4090.toml").read_text()
        head, _, tail = good.partition("[provenance]\n")
        assert tail
        head = head.replace("4090", "40900").split("aliases")[0] + head.split("]", 1)[1]
        (small_data / file).write_text(f'{head}[provenance]\n"*" = ["no-such-source"]\n')
    with pytest.raises(BadRecordsError) as raised:
        build(target, [small_data], must_exist=False)
    assert said in str(raised.value)
    assert file.rsplit("/", 1)[-1] in str(raised.value)
    assert target.read_bytes() == built


def test_duplicate_alias(built: bytes, small_data: Path, target: Path) -> None:
    """A record that takes another's name is named together with that other."""
    folder = small_data / "accelerators/nvidia"
    (folder / "nvidia-rtx-4090-copy.toml").write_text((folder / "nvidia-rtx-4090.toml").read_text())
    with pytest.raises(BadRecordsError, match=r"(?s)nvidia-rtx-4090-copy\.toml: aliases.*'nvidia-rtx-4090'"):
        build(target, [small_data], must_exist=False)
    assert target.read_bytes() == built


def test_all_bad_records_at_once(small_data: Path, target: Path) -> None:
    """Two broken files are reported together, and no catalog appears."""
    for name in ("one", "two"):
        (small_data / f"accelerators/nvidia/{name}.toml").write_text("= nothing")
    with pytest.raises(BadRecordsError, match=r"(?s)one\.toml.*two\.toml"):
        build(target, [small_data], must_exist=False)
    assert not target.exists()


def test_no_release_no_catalog(small_data: Path, target: Path) -> None:
    """Without a release there is no version to build."""
    for path in (small_data / "releases").iterdir():
        path.unlink()
    with pytest.raises(CatalogError, match="data/releases has no release"):
        build(target, [small_data], must_exist=False)


def test_must_exist_rows_are_missed(small_data: Path, target: Path) -> None:
    """A catalog that lacks what every release has is not published."""
    with pytest.raises(CatalogError, match=r"must-exist: accelerators has no nvidia-h200-sxm-141gb"):
        build(target, [small_data])
    assert not target.exists()


def test_interrupt_keeps_the_old_catalog(built: bytes, small_data: Path, target: Path) -> None:
    """Ctrl-C in the middle leaves the old catalog and no temporary file."""

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "check" and done == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(target, [small_data], interrupt, must_exist=False)
    assert target.read_bytes() == built
    assert _only(target)


def test_full_disk_at_the_end(built: bytes, small_data: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full when the file is made durable is one line, and the old catalog stays."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(build_module.os, "fsync", full)
    with pytest.raises(CatalogError, match=r"No space left on device.*the old catalog is unchanged"):
        build(target, [small_data], must_exist=False)
    assert target.read_bytes() == built
    assert _only(target)


CHILD = """
import os, resource, signal, sys
from pathlib import Path
from rackfit.catalog.build import build
from rackfit.errors import CatalogError
what, target, data = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
def progress(stage, done, total):
    if what == "kill" and stage == "check" and done == 0:
        os.kill(os.getpid(), signal.SIGKILL)
if what == "small disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    build(target, [data], progress, must_exist=False)
except CatalogError as error:
    print(error)
    sys.exit(1)
"""


def _child(what: str, target: Path, data: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD, what, str(target), str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(os.name != "posix", reason="file size limits are POSIX")
def test_full_disk_while_writing(built: bytes, small_data: Path, target: Path) -> None:
    """A write that the system refuses is one line, and the old catalog still opens."""
    done = _child("small disk", target, small_data)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("\n") == 1
    assert "the old catalog is unchanged" in done.stdout
    assert target.read_bytes() == built
    assert _only(target)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_kill_keeps_the_old_catalog(built: bytes, small_data: Path, target: Path) -> None:
    """A killed build leaves the old catalog; the next build removes what the killed one left."""
    done = _child("kill", target, small_data)
    assert done.returncode == -signal.SIGKILL
    assert not _only(target)
    open_catalog(target).close()
    assert target.read_bytes() == built
    build(target, [small_data], must_exist=False)
    assert _only(target)


def test_a_folder_that_cannot_be_made(small_data: Path, tmp_path: Path) -> None:
    """A target below a file is one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="cannot write beside"):
        build(tmp_path / "file" / "catalog.db", [small_data], must_exist=False)


def test_a_refused_row_is_named(built: bytes, target: Path) -> None:
    """A row that breaks the schema is shown with table and values."""
    connection = sqlite3.connect(target, isolation_level=None)
    row = {"version": "2026.12", "date": "yesterday"}
    with pytest.raises(CatalogError, match=r"releases: CHECK constraint failed.*date='yesterday'"):
        load(connection, [("releases", {**row, "date": "2026-12-01"}), ("releases", row)])


def test_checks_name_what_is_wrong(built: bytes, target: Path) -> None:
    """Each breach is one line with check, place and finding."""
    connection = sqlite3.connect(target, isolation_level=None)
    assert broken_checks(connection, must_exist=False) == []
    connection.execute("pragma ignore_check_constraints = on")
    connection.execute("update accelerator_rates set sparse_tflops = dense_tflops / 2 where dense_tflops is not null")
    connection.execute("delete from sources where source_id in (select source_id from provenance limit 1)")
    lines = broken_checks(connection, must_exist=False)
    assert any(line.startswith("dense-sparse: ") for line in lines)
    assert any(line.startswith("foreign-keys: ") and "provenance" in line for line in lines)


def test_missing_catalog(tmp_path: Path) -> None:
    """A missing catalog names the command that makes it."""
    with pytest.raises(CatalogError, match=r"no catalog at .*: run `rackfit build` first"):
        open_catalog(tmp_path / "none.db")


def test_another_database(tmp_path: Path) -> None:
    """Another program's database is not taken for a catalog."""
    sqlite3.connect(tmp_path / "other.db").execute("create table t (x)").connection.close()
    with pytest.raises(CatalogError, match="is not a Rackfit catalog"):
        open_catalog(tmp_path / "other.db")


def test_no_database(tmp_path: Path) -> None:
    """A text file is one clear line."""
    (tmp_path / "text.db").write_text("this is not a database at all, only some lines of text\n" * 100)
    with pytest.raises(CatalogError, match="cannot be read as a catalog"):
        open_catalog(tmp_path / "text.db")


def test_cut_short(built: bytes, target: Path) -> None:
    """A catalog that lost its end is found out when it is opened."""
    target.write_bytes(built[: len(built) // 2])
    with pytest.raises(CatalogError, match=r"cut short|cannot be read"):
        open_catalog(target)


def test_schema_of_another_version(built: bytes, target: Path) -> None:
    """A catalog of a newer Rackfit says so."""
    sqlite3.connect(target).execute("pragma user_version = 999").connection.close()
    with pytest.raises(CatalogError, match="has schema 999"):
        open_catalog(target)


def test_read_only(built: bytes, target: Path) -> None:
    """A catalog opens read-only unless asked otherwise."""
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        open_catalog(target).execute("delete from offers")
    writable = open_catalog(target, writable=True)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        writable.execute("update offers set accelerator_id = 'nothing'")


def test_old_sqlite() -> None:
    """Trial R115: an SQLite without STRICT tables is refused with both versions."""
    with pytest.raises(CatalogError, match=r"SQLite 3\.36\.0 is too old: 3\.37\.0 or later is needed"):
        check_sqlite((3, 36, 0))
