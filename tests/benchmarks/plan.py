"""Measure `rackfit plan` over the whole catalog as a new process against `import numpy`: medians, taken in turns."""

from __future__ import annotations

import json
import sys

from turns import beside_numpy

MOST_SECONDS = 1.0
MOST_RATIO = 8.0

PLAN = [
    *(sys.executable, "-m", "rackfit", "plan", "Llama-3.1-70B", "--users", "50", "--context", "8k"),
    *("--tokens-per-second", "15", "--ttft", "6", "--prompt", "2k", "--json"),
]


def main() -> int:
    """Print both medians and hold them against the limit."""
    plan, numpy = beside_numpy(PLAN)
    ratio = plan / numpy
    print(json.dumps({"plan_s": round(plan, 3), "import_numpy_s": round(numpy, 3), "ratio": round(ratio, 1)}))
    return 0 if plan < MOST_SECONDS or ratio < MOST_RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
