"""Measure `rackfit plan` over the whole catalog as a new process against `import numpy`: medians, taken in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

RUNS = 11
MOST_SECONDS = 1.0
MOST_RATIO = 8.0

PLAN = [
    *(sys.executable, "-m", "rackfit", "plan", "Llama-3.1-70B", "--users", "50", "--context", "8k"),
    *("--tokens-per-second", "15", "--ttft", "6", "--prompt", "2k", "--json"),
]
NUMPY = [sys.executable, "-c", "import numpy"]


def seconds(command: list[str]) -> float:
    """Return how long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    """Take turns, so that a busy moment hits both."""
    seconds(PLAN), seconds(NUMPY)
    pairs = [(seconds(PLAN), seconds(NUMPY)) for _ in range(RUNS)]
    plan, numpy = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = plan / numpy
    print(json.dumps({"plan_s": round(plan, 3), "import_numpy_s": round(numpy, 3), "ratio": round(ratio, 1)}))
    return 0 if plan < MOST_SECONDS or ratio < MOST_RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
