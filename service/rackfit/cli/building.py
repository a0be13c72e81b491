"""`rackfit build` and `rackfit serve`."""

from __future__ import annotations

import signal
import warnings
from contextlib import suppress
from pathlib import Path

import click

from rackfit.cli.options import catalog_option, catalog_path

MOST_NAMED = 10
"""Records of one table that are named when a build has them no more."""
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(short_help="Build the catalog from the data files")
@click.option("--overlay", "overlays", multiple=True, type=FOLDER, help="Folder of your own records; repeatable")
@click.option("--data", type=FOLDER, help="Data folder  [default: the one that came with Rackfit]")
@click.option("--without-local", is_flag=True, help="Do not take over prices that were imported before")
@click.option("--quiet", is_flag=True, help="No progress on stderr")
@catalog_option
def build(
    overlays: tuple[Path, ...], data: Path | None, without_local: bool, quiet: bool, catalog: Path | None
) -> None:
    """Build the catalog from the data files; the last line printed is its path.

    Whatever goes wrong, the old catalog stays as it was. Prices that were imported into it are taken over.

    \b
    rackfit build
    rackfit build --catalog here.db
    rackfit build --overlay our-prices/
    """
    click.echo(_build(catalog_path(catalog), data, overlays, quiet, not without_local), color=False)


def _build(target: Path, data: Path | None, overlays: tuple[Path, ...], quiet: bool, keep_local: bool = True) -> Path:
    """Build and say on stderr what was built."""
    from rackfit.assemble import build as build_catalog
    from rackfit.cli.progress import ProgressBar
    from rackfit.paths import packaged

    folders = [data or packaged("data"), *overlays]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like Ctrl+C: no draft and no trace stays behind
    if quiet:
        return build_catalog(target, folders, must_exist=data is None, keep_local=keep_local).target
    progress = ProgressBar()
    try:
        report = build_catalog(target, folders, progress, must_exist=data is None, keep_local=keep_local)
    finally:
        progress.close()
    rows = sum(report.tables.values())
    size = f"{report.size_bytes / 1e6:,.0f} MB, {report.seconds:.0f} s"
    click.echo(f"catalog {report.version}: {rows:,} rows in {len(report.tables)} tables, {size}", err=True, color=False)
    for table, keys in report.lost.items():
        named = ", ".join(keys[:MOST_NAMED]) + (", ..." if len(keys) > MOST_NAMED else "")
        click.echo(f"gone since the catalog before: {len(keys):,} {table} ({named})", err=True, color=False)
    if report.kept_offers:
        click.echo(f"{report.kept_offers:,} imported prices taken over from the catalog before", err=True, color=False)
    return report.target


@click.command(short_help="Browse the catalog in Datasette")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on")
@click.option("--port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that answer  [default: one per core, at most 4]")
@catalog_option
def serve(host: str, port: int, workers: int | None, catalog: Path | None) -> None:
    """Open the catalog in Datasette; it is built first where there is none.

    A catalog that is built anew while the server runs is picked up by itself.

    \b
    rackfit serve
    rackfit serve --port 8080 --catalog here.db
    rackfit serve --host 0.0.0.0 --workers 8
    """
    path = catalog_path(catalog)
    if not path.exists():
        click.echo(f"no catalog at {path} yet, building it", err=True, color=False)
        _build(path, None, (), False)
    from rackfit.publish.serve import serve as serve_catalog
    from rackfit.publish.workers import sensible_count

    with warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        serve_catalog(path, host=host, port=port, announce=click.echo, workers=workers or sensible_count())
