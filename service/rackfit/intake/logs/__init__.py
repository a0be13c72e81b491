"""Start-up logs of engines: one module per engine, found by its file; each has ENGINE, PATTERNS and read()."""
