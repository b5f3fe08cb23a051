"""The trainer's side: a thin HTTP client that imports nothing else of patchdeck."""
