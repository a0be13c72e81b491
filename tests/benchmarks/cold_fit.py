"""Measure `rackfit fit` as a new process against `import numpy` alone: medians of several runs, taken in turns."""

from __future__ import annotations

import json
import sys

from turns import beside_numpy

MOST_SECONDS = 0.3

FIT = [sys.executable, "-m", "rackfit", "fit", "Qwen3-8B", "--on", "rtx-4090", "--json"]


def main() -> int:
    """Print both medians and hold them against the limit."""
    fit, numpy = beside_numpy(FIT)
    print(json.dumps({"fit_seconds": round(fit, 3), "import_numpy_seconds": round(numpy, 3), "limit": MOST_SECONDS}))
    return 0 if fit < max(MOST_SECONDS, numpy) else 1


if __name__ == "__main__":
    raise SystemExit(main())
