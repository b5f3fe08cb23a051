"""Program repair for small models: locate, patch, rank, test, explain."""
