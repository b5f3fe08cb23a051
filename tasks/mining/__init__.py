"""From a git history to tasks: candidates, environments, validation, the funnel."""
