"""What is computed from the facts after they are loaded, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) as work goes on."""

Step = Callable[[sqlite3.Connection, Progress], None]

COMPUTE: tuple[Step, ...] = ()
"""Each step reads fact tables, writes its computed tables, and reports its progress."""
