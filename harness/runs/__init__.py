"""Runs: what was asked, the store on disk, attempts, and what came of them."""
