"""Weights on disk: GGUF files and this project's own training checkpoints."""
