"""The sample: a small library with a history of defects, and eight decks."""
