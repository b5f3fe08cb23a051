"""What the harness needs, for `patchdeck doctor`."""

import importlib.util
import shutil


def checks() -> list[tuple[str, bool, str, str]]:
    """name, whether it holds, its state, the cure."""
    git = shutil.which("git")
    client = importlib.util.find_spec("openai") is not None
    return [
        ("git", git is not None, git or "not found", "apt-get install git"),
        ("openai client", client, "installed" if client else "not installed", "pip install patchdeck"),
    ]
