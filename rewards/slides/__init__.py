"""Deck scoring in three layers: the markup, the rendered page, the look."""
