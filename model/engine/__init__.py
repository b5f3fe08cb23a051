"""The bundled inference engine: one thread that decodes, scores and takes new weights."""
