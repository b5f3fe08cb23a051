"""The road back: the Experience contract and the stream that a trainer reads."""
