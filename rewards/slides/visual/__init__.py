"""The visual layer: palette, contrast, type hierarchy, CLIP over page pictures. Needs the `visual` extra."""
