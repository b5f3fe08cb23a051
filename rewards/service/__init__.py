"""The reward service: patches and decks in over HTTP, the Reward contract out."""
