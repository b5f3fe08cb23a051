"""Programs that run inside the sandbox. They are sent there as text and import nothing of this project."""
