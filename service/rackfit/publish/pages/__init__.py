"""Pages of Rackfit's own beside the tables."""
