"""From a file to a log: text whatever its encoding, and the engine that its lines come from."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import rackfit.intake.logs as package
from rackfit.errors import UsageError
from rackfit.intake.logs.parsed import Log, lines_of

MOST_BYTES = 64 * 2**20
"""Largest log that is read: what an engine prints at start is at most a few MiB."""
STDIN = "-"
ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
"""Mark at the beginning of a file -> its encoding. PowerShell writes redirected output as UTF-16."""
TOLERATED_NULS = 8
"""NUL bytes that a log may hold after a crash of its disk or machine; more of them make it binary."""


@cache
def engines() -> tuple[ModuleType, ...]:
    """Return the modules that read an engine's log: those with PATTERNS."""
    names = sorted(found.name for found in iter_modules(package.__path__) if found.name not in ("parsed", "reading"))
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    return tuple(module for module in modules if hasattr(module, "PATTERNS"))


def read_text(file: str) -> str:
    """Return the text of a log file, or of standard input for `-`.

    Raises:
        UsageError: no such file, a folder, empty, too large, or not text.
    """
    shown = "standard input" if file == STDIN else file
    try:
        if file == STDIN:
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as handle:
                raw = handle.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{shown}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{shown}: more than {MOST_BYTES // 2**20} MiB; give the part from the start of the engine")
    encoding = next((name for mark, name in ENCODINGS if raw.startswith(mark)), "utf-8")
    text = raw.decode(encoding, errors="replace")
    if not text.strip():
        raise UsageError(f"{shown}: empty, expected an engine's start-up log")
    if text.count("\x00") > TOLERATED_NULS:
        raise UsageError(f"{shown}: binary, expected an engine's start-up log in text")
    return text


def read_log(text: str, shown: str = "the log") -> Log:
    """Return what a log says.

    Raises:
        UsageError: no line is known to any engine.
    """
    lines = lines_of(text)
    best: tuple[int, Log] | None = None
    for module in engines():
        log, hits = module.read(lines)
        if hits and (best is None or hits > best[0]):
            best = (hits, log)
    if best is None:
        names = ", ".join(module.ENGINE for module in engines())
        raise UsageError(f"{shown}: no line of a start-up log is known here; understood are {names}")
    return best[1]
