"""docs/tutorial.md: the prose is written by hand, what its commands print is filled in from a catalog.

A block of commands (sh) that is followed by a block of text shows what they print, its first lines where the block
says `lines=N`. Files that a command writes go to a folder of their own.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from asked import Asked

FILE = Path(__file__).with_name("tutorial.md")
BLOCK = re.compile(r"```sh\n(?P<commands>.*?)```\n(?:\n```text(?: lines=(?P<lines>\d+))?\n.*?```\n)?", re.DOTALL)
ELSEWHERE = {
    "python3 -m venv .venv && .venv/bin/pip install . && . .venv/bin/activate": ".ci/run installs a wheel",
    "rackfit build": "every run of the tests builds the catalog",
    "rackfit serve": "tests/cli/test_serving.py",
}
"""Commands that are not run here -> what runs them."""


def commands(block: str) -> Iterator[str]:
    """Yield the commands of a block, without comments."""
    for line in block.splitlines():
        command = line.partition("  #")[0].strip()
        if command and not command.startswith("#"):
            yield command


def document(asked: Asked) -> str:
    """Return the tutorial with what its commands print today.

    Raises:
        NoAnswer: a command fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        return BLOCK.sub(lambda found: _block(found, asked, Path(folder)), FILE.read_text(encoding="utf-8"))


def _block(found: re.Match[str], asked: Asked, folder: Path) -> str:
    printed = [asked.text(command, folder) for command in commands(found["commands"]) if command not in ELSEWHERE]
    head = f"```sh\n{found['commands']}```\n"
    if "```text" not in found[0]:
        return head
    lines = "\n".join(text.rstrip("\n") for text in printed).splitlines()
    most = int(found["lines"]) if found["lines"] else len(lines)
    shown = [line.rstrip() for line in lines[:most]] + (["..."] if len(lines) > most else [])
    note = f" lines={most}" if found["lines"] else ""
    body = "\n".join(shown)
    return f"{head}\n```text{note}\n{body}\n```\n"
