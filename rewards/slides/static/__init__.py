"""The static layer: what the markup says before any browser has run it."""
