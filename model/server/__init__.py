"""The OpenAI-compatible server of the bundled model."""
