"""Output of drivers' tools and of engines' device lists: one module per tool, found by its file, each with read()."""
