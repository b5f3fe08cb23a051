"""What rewards need, for `patchdeck doctor`."""

import importlib.util

_VISUAL = {"numpy": "numpy", "PIL": "pillow", "scipy": "scipy", "open_clip": "open_clip_torch"}


def checks() -> list[tuple[str, bool, str, str]]:
    """name, whether it holds, its state, the cure."""
    missing = [name for module, name in _VISUAL.items() if importlib.util.find_spec(module) is None]
    service = [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]
    return [
        (
            "deck pictures",
            not missing,
            f"not installed: {', '.join(missing)}" if missing else "installed",
            "pip install 'patchdeck[visual]'",
        ),
        (
            "reward service",
            not service,
            f"not installed: {', '.join(service)}" if service else "installed",
            "pip install patchdeck",
        ),
    ]
