"""Closed streams, files that are no catalog, figures that are no numbers: one clear line and nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import one_line, rackfit

from rackfit.catalog.connect import APPLICATION_ID, APPLICATION_ID_AT, check_target
from rackfit.errors import CatalogError


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
@pytest.mark.parametrize("asked", ["estimate 70", "estimate nan", "nonsense"])
def test_closed_streams(asked: str, closed: str) -> None:
    """A stream that is closed before the start is no reason for a trace, and the exit status stays."""
    line = f"{sys.executable} -m rackfit {asked}"
    usual = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
    done = subprocess.run(f"{line} {closed}", shell=True, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == usual.returncode


def _files(folder: Path) -> list[Path]:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "short").write_bytes(b"x")
    (folder / "other.db").write_bytes(b"SQLite format 3\0" + bytes(4080))
    return sorted(folder.iterdir())


def test_nothing_is_built_over_other_files(tmp_path: Path) -> None:
    """A file of somebody else's at the place of the catalog is refused before any work, and stays as it was."""
    for path in _files(tmp_path):
        before = path.read_bytes()
        done = rackfit("build", "--quiet", "--catalog", str(path))
        assert (done.returncode, one_line(done.stderr)) == (1, True), done.stderr
        assert "not a Rackfit catalog" in done.stderr
        assert path.read_bytes() == before


def test_old_and_damaged_catalogs_may_be_built_over(tmp_path: Path) -> None:
    """An empty file, none at all, and whatever carries a catalog's mark are places for a new catalog."""
    (tmp_path / "empty").touch()
    damaged = bytearray(200)
    damaged[APPLICATION_ID_AT : APPLICATION_ID_AT + 4] = APPLICATION_ID.to_bytes(4, "big")
    (tmp_path / "damaged").write_bytes(damaged)
    for name in ("none", "empty", "damaged"):
        check_target(tmp_path / name)
    with pytest.raises(CatalogError, match="not a file"):
        check_target(tmp_path)


def test_a_folder_for_a_catalog(tmp_path: Path) -> None:
    """RACKFIT_CATALOG that names a folder is called that, at reading and at building."""
    for command in (("hardware",), ("build", "--quiet")):
        done = rackfit(*command, catalog=tmp_path)
        assert (done.returncode, one_line(done.stderr)) == (1, True)
        assert "not a file" in done.stderr


FIGURES = [
    ("fit", "Qwen3-8B", "--on", "rtx-4090", "--utilization"),
    ("fit", "Qwen3-8B", "--on", "rtx-4090", "--usable"),
    ("fit", "Qwen3-8B", "--on", "rtx-4090", "--reserve"),
    ("fit", "Qwen3-8B", "--on", "cpu", "--host-ram"),
    ("fit", "Qwen3-8B", "--max-price"),
    ("hardware", "--min-memory"),
    ("hardware", "--min-bandwidth"),
    ("models", "--max-params"),
    ("models", "--min-params"),
    ("estimate",),
]


@pytest.mark.parametrize("command", FIGURES)
@pytest.mark.parametrize("figure", ["nan", "inf", "1e400"])
def test_figures_that_are_no_numbers(catalog: Path, command: tuple[str, ...], figure: str) -> None:
    """Not a number passes every comparison and infinity most of them: both are refused wherever a figure is asked."""
    done = rackfit(*command, figure, catalog=catalog)
    assert (done.returncode, one_line(done.stderr)) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        ("hardware", "--vendor", "nvidai"),
        ("hardware", "--segment", "gaming"),
        ("models", "--family", "llamma"),
        ("models", "--attention", "nope"),
        ("fit", "Qwen3-8B", "--on", "rtx-4090", "--runtime", ""),
        ("fit", "Qwen3-8B", "--on", "rtx-4090", "--images", "1"),
    ],
)
def test_words_that_nothing_has(catalog: Path, command: tuple[str, ...]) -> None:
    """A word that no record has is an unknown name; an empty list is for filters that could have found something."""
    done = rackfit(*command, catalog=catalog)
    assert (done.returncode, one_line(done.stderr)) == (2, True)
    assert rackfit("hardware", "--vendor", "intel", "--min-memory", "9999", catalog=catalog).returncode == 0


def test_values_that_json_and_terminals_have_no_sign_for(catalog: Path) -> None:
    """Infinity is text in JSON, and control characters of a cell never reach the terminal."""
    done = rackfit("sql", "select 9e999 as much, -9e999 as little, 1 as one", "--json", catalog=catalog)
    assert json.loads(done.stdout)["results"] == [{"much": "inf", "little": "-inf", "one": 1}]
    shown = rackfit("sql", "select char(27) || '[31mred' || char(8) || char(155) as x", catalog=catalog)
    assert not [sign for sign in shown.stdout if not sign.isprintable() and sign != "\n"]


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_ended(tmp_path: Path, ended_by: signal.Signals) -> None:
    """Ctrl+C and a plain kill end a build with one line; no draft stays and the file that was there is untouched."""
    target = tmp_path / "catalog.db"
    target.touch()
    command = [sys.executable, "-m", "rackfit", "build", "--quiet", "--catalog", str(target)]
    starting = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    running = subprocess.Popen([sys.executable, "-c", starting, *command], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(ended_by)
    _, stderr = running.communicate(timeout=60)
    assert (running.returncode, stderr.strip()) == (130, "rackfit: interrupted")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.stat().st_size == 0
