"""Progress of a build on stderr: one bar on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
import time

BAR = 24
"""Characters of the bar."""
EVERY_S = 0.1
"""Seconds between two redraws."""


class ProgressBar:
    """A callable that a build reports to: stage, steps done, steps in all."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.stage = ""
        self.drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if not self.terminal:
            if stage != self.stage:
                print(f"{stage} ...", file=sys.stderr, flush=True)
            self.stage = stage
            return
        now = time.monotonic()
        if stage == self.stage and done < total and now - self.drawn < EVERY_S:
            return
        self.stage, self.drawn = stage, now
        share = min(done / total, 1.0) if total else 0.0
        filled = "#" * int(share * BAR)
        print(f"\r{stage:<28.28} [{filled:<{BAR}}] {share:>4.0%}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clear the bar."""
        if self.terminal and self.stage:
            print("\r" + " " * (BAR + 40) + "\r", end="", file=sys.stderr, flush=True)
