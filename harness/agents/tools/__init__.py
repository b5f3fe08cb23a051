"""The conversational agent: search, view, edit, run, submit."""
