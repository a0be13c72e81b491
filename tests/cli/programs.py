"""The command line as people run it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def rackfit(
    *arguments: str, catalog: Path | None = None, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it wrote and its exit status."""
    variables = {**os.environ, **({"RACKFIT_CATALOG": str(catalog)} if catalog else {}), **(environment or {})}
    command = [sys.executable, "-m", "rackfit", *arguments]
    return subprocess.run(command, env=variables, text=True, capture_output=True, timeout=300, **options)


def one_line(stderr: str) -> bool:
    """Say whether stderr is one line of ours and no trace."""
    return stderr.startswith("rackfit: ") and stderr.count("\n") == 1 and "Traceback" not in stderr
