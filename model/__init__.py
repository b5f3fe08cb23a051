"""The bundled model: architecture, checkpoints, engine, server, training."""
