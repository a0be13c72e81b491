"""Measure `rackfit fit` as a new process against `import numpy` alone: medians of several runs, taken in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

RUNS = 11
MOST_SECONDS = 0.3

FIT = [sys.executable, "-m", "rackfit", "fit", "Qwen3-8B", "--on", "rtx-4090", "--json"]
NUMPY = [sys.executable, "-c", "import numpy"]


def seconds(command: list[str]) -> float:
    """Return how long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    """Take turns, so that a busy moment hits both."""
    seconds(FIT), seconds(NUMPY)
    pairs = [(seconds(FIT), seconds(NUMPY)) for _ in range(RUNS)]
    fit, numpy = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(json.dumps({"fit_seconds": round(fit, 3), "import_numpy_seconds": round(numpy, 3), "limit": MOST_SECONDS}))
    return 0 if fit < max(MOST_SECONDS, numpy) else 1


if __name__ == "__main__":
    raise SystemExit(main())
