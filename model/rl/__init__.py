"""Reinforcement learning of the bundled model: advantages, losses, batches and the trainer."""
