"""The worker that runs inside the browser container: JSON lines in, JSON lines out, no port."""
