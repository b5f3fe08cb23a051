"""What it was worth: the Reward and Submission contracts, code grading, deck layers, the service."""
