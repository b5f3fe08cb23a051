"""What the harness needs, for `patchdeck doctor`."""

import importlib.util


def checks() -> list[tuple[str, bool, str, str]]:
    """name, whether it holds, its state, the cure."""
    client = importlib.util.find_spec("openai") is not None
    return [
        ("openai client", client, "installed" if client else "not installed", "pip install patchdeck"),
    ]
