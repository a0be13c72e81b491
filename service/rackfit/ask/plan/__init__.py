"""Sizing: which configurations of the catalog serve so many users of a model, at a speed and a price that are asked."""
