"""What training needs of the model itself: log-probabilities with a gradient, and the optimiser."""
