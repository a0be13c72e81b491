"""The complete build: facts, configurations, fits, answers, and the score of every stored measurement."""

from __future__ import annotations

from pathlib import Path

from rackfit.accuracy import step as estimates
from rackfit.catalog.build import BuildReport
from rackfit.catalog.build import build as build_facts
from rackfit.catalog.compute import COMPUTE, Progress


def _quiet(stage: str, done: int, total: int) -> None:
    """Report no progress."""


def build(
    target: Path,
    folders: list[Path],
    progress: Progress = _quiet,
    must_exist: bool = True,
    keep_local: bool = True,
) -> BuildReport:
    """Build the whole catalog and put it in the target's place.

    Args:
        target: path of the catalog.
        folders: data folders, later ones are overlays.
        progress: called with (stage, done, total).
        must_exist: whether rows that a published catalog has must be there.
        keep_local: whether what was imported into the catalog before is taken over.

    Raises:
        BadRecordsError, CatalogError: as `catalog.build.build`.
    """
    return build_facts(target, folders, progress, must_exist, (*COMPUTE, estimates.compute), keep_local)
