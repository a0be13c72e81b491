"""Verdicts: the numbers that arithmetic gives them, their words, and their order."""

from __future__ import annotations

NO, TIGHT, FITS = 0, 1, 2
VERDICTS = ("no", "tight", "fits")
"""Words of the numbers."""
CANNOT_RUN = "cannot_run"
"""Verdict on what no memory would make run: the format, the engine or the layout forbids it."""
WORST_FIRST = (CANNOT_RUN, *VERDICTS)
RUNNING = ("fits", "tight")
"""Verdicts with which a model runs, with or without room to spare."""
