"""Readers of test results: structured reports first, raw logs where there is none."""
