"""Networks as PyTorch modules, for training and as the engine's reference."""
