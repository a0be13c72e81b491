"""Files to catalog: read, load, compute, index, check, and only then take the old catalog's place.

Everything happens in temporary files beside the target. Whatever goes wrong, the old catalog stays as it was.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rackfit.catalog.checks import broken_checks
from rackfit.catalog.compute import COMPUTE, Progress, Step
from rackfit.catalog.connect import check_identity, check_sqlite, check_target
from rackfit.catalog.diff import lost_records
from rackfit.catalog.loading import defer_indexes, load
from rackfit.catalog.local_prices import Kept, kept_rows, put_back
from rackfit.catalog.migrate import migrate, stamp
from rackfit.catalog.reproducible import logical_hash, own_tables
from rackfit.catalog.rows import SUBJECTS, subject_rows
from rackfit.errors import CatalogError
from rackfit.records.load import Library, read_library

PAGE_SIZE = 4096
"""Bytes per page: fixed, because the same content must give the same bytes."""

CACHE_KIB = 262_144
"""Page cache of the build, KiB: the whole catalog nearly fits, within the build's memory of 1 GB."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build made."""

    target: Path
    version: str
    logical_hash: str
    tables: dict[str, int]
    size_bytes: int
    seconds: float
    kept_offers: int = 0
    """Imported prices that were taken over from the catalog before."""
    lost: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Table -> records of the catalog before that this one has no more."""


def _quiet(stage: str, done: int, total: int) -> None:
    """Report no progress."""


def build(
    target: Path,
    folders: list[Path],
    progress: Progress = _quiet,
    must_exist: bool = True,
    steps: tuple[Step, ...] = COMPUTE,
    keep_local: bool = True,
) -> BuildReport:
    """Build the catalog from data folders (later ones are overlays) and put it in the target's place.

    `must_exist=False` leaves out the list of rows that a published catalog has: for catalogs of other data. `steps`
    compute what follows from the facts, in order. `keep_local` takes over what was imported into the old catalog.

    Raises:
        BadRecordsError: every problem in the files.
        CatalogError: the disk is full, a row breaks the schema, or a check of the finished file fails.
    """
    check_sqlite()
    check_target(target)
    began = time.monotonic()
    progress("read records", 0, 1)
    library = read_library(folders)
    progress("read records", 1, 1)
    _newest_release(library)
    kept = kept_rows(target) if keep_local else Kept()
    with _temporary(target) as (work, ready):
        try:
            return _build(library, target, work, ready, progress, must_exist, began, steps, kept)
        except (sqlite3.Error, OSError) as error:
            state = "the old catalog is unchanged" if target.exists() else "nothing was built"
            raise CatalogError(f"cannot write {target} ({error}): {state}") from error


def _build(
    library: Library,
    target: Path,
    work: Path,
    ready: Path,
    progress: Progress,
    must_exist: bool,
    began: float,
    steps: tuple[Step, ...],
    kept: Kept,
) -> BuildReport:
    version, date = _newest_release(library)
    connection = _scratch(work)
    try:
        migrate(connection)
        stamp(connection, f"{date} 00:00:00+00:00")
        tables = _fill(connection, library, progress, steps)
        _finish(connection, ready, progress)
    finally:
        connection.close()
    _take_over(ready, kept)
    digest = _approve(ready, version, must_exist, progress)
    _durable(ready)
    lost = _lost(target, ready)
    size = ready.stat().st_size
    os.replace(ready, target)
    _durable_folder(target.parent)
    return BuildReport(target, version, digest, tables, size, time.monotonic() - began, len(kept.offers), lost)


def _lost(target: Path, ready: Path) -> dict[str, list[str]]:
    """Return the records that the catalog in place has and the new one has not; none where there is no catalog yet."""
    try:
        check_identity(target)
        return lost_records(target, ready)
    except (CatalogError, sqlite3.Error):
        return {}


def _take_over(ready: Path, kept: Kept) -> None:
    """Write what was imported into the old catalog into the new one, beside the rows of its release."""
    if kept.offers:
        with closing(sqlite3.connect(ready)) as final:
            put_back(final, kept)
            final.commit()


def _newest_release(library: Library) -> tuple[str, str]:
    releases = library.kind("releases")
    if not releases:
        raise CatalogError("data/releases has no release: the catalog needs a version and a date")
    newest = max(releases.values(), key=lambda release: (release.date, release.slug))
    return newest.slug, newest.date


def _scratch(path: Path) -> sqlite3.Connection:
    """Open an empty database for fast loading: nothing is lost if it is torn, it is only a draft."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        f"page_size = {PAGE_SIZE}",
        "journal_mode = memory",
        "synchronous = off",
        "locking_mode = exclusive",
        f"cache_size = -{CACHE_KIB}",
        "temp_store = memory",
        "foreign_keys = off",
    ):
        connection.execute(f"pragma {pragma}")
    return connection


def _fill(
    connection: sqlite3.Connection, library: Library, progress: Progress, steps: tuple[Step, ...]
) -> dict[str, int]:
    """Load the facts, compute the rest, index both; return the number of rows per table."""
    connection.execute("begin")
    indexes = defer_indexes(connection)
    for done, subject in enumerate(SUBJECTS):
        progress("load facts", done, len(SUBJECTS))
        load(connection, subject_rows(subject, library))
    progress("load facts", len(SUBJECTS), len(SUBJECTS))
    tables = sorted({table for table, _ in indexes})
    filled = {table for table in tables if connection.execute(f'select 1 from "{table}" limit 1').fetchone()}
    early = [sql for table, sql in indexes if table in filled]
    late = [sql for table, sql in indexes if table not in filled]
    for sql in early:
        connection.execute(sql)
    for step in steps:
        step(connection, progress)
    for done, sql in enumerate(late):
        progress("index", done, len(late))
        connection.execute(sql)
    connection.execute("commit")
    return _counts(connection)


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    return {name: connection.execute(f'select count(*) from "{name}"').fetchone()[0] for name in own_tables(connection)}


def _finish(connection: sqlite3.Connection, ready: Path, progress: Progress) -> None:
    """Gather statistics and write the compact final file."""
    progress("write", 0, 2)
    connection.execute("analyze")
    progress("write", 1, 2)
    connection.execute("vacuum into ?", (str(ready),))
    progress("write", 2, 2)


def _approve(ready: Path, version: str, must_exist: bool, progress: Progress) -> str:
    """Check the final file, write its hash into its release row, and return the hash.

    Checks and hash are two passes over all rows; SQLite works outside the interpreter's lock, so they run side by side.

    Raises:
        CatalogError: listing every check that fails.
    """
    progress("check", 0, 1)
    with ThreadPoolExecutor(max_workers=1) as worker, closing(sqlite3.connect(ready, isolation_level=None)) as final:
        checks = worker.submit(_breaches, ready, must_exist)
        digest = logical_hash(final)
        broken = checks.result()
        if broken:
            lines = "\n".join(f"  {line}" for line in broken)
            what = f"{len(broken)} problem{'s' if len(broken) > 1 else ''} in the built catalog"
            raise CatalogError(f"{what}, nothing was replaced\n{lines}")
        final.execute("pragma journal_mode = memory")
        final.execute("update releases set logical_hash = ? where version = ?", (digest, version))
    progress("check", 1, 1)
    return digest


def _breaches(ready: Path, must_exist: bool) -> list[str]:
    """Return what is wrong with the final file, a line each: its structure first, then what it says."""
    with closing(sqlite3.connect(ready)) as final:
        verdict = final.execute("pragma quick_check").fetchone()[0]
        if verdict != "ok":
            return [f"damaged file: {verdict}"]
        return broken_checks(final, must_exist)


def _durable(path: Path) -> None:
    """Make sure that the file is on the disk before it gets the catalog's name."""
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def _durable_folder(folder: Path) -> None:
    """Put the new name on the disk too, where a folder can be opened; the catalog is in place either way."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _alive(pid: int) -> bool:
    """Say whether a process still runs; where that cannot be asked, the file system refuses to delete open files."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sweep(target: Path) -> None:
    """Remove what builds that were killed left beside the target."""
    for path in target.parent.glob(f".{target.name}.*.building*"):
        pid = path.name.removeprefix(f".{target.name}.").split(".")[0]
        if pid.isdigit() and (int(pid) == os.getpid() or not _alive(int(pid))):
            path.unlink(missing_ok=True)


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, Path]]:
    """Name the draft and the final temporary file beside the target, and leave neither behind."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
    except OSError as error:
        raise CatalogError(f"cannot write beside {target} ({error})") from error
    stem = f".{target.name}.{os.getpid()}.building"
    work, ready = target.with_name(f"{stem}-draft"), target.with_name(f"{stem}-final")
    try:
        yield work, ready
    finally:
        for path in (work, ready, work.with_name(f"{work.name}-journal"), ready.with_name(f"{ready.name}-journal")):
            path.unlink(missing_ok=True)
