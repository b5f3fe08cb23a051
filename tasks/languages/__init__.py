"""What mining and trials must know of a programming language: one file each."""
