"""Agents: what attempts a task inside its sandbox."""
