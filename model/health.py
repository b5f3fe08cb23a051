"""What the bundled model needs, for `patchdeck doctor`."""

import importlib.util

Check = tuple[str, bool, str, str]
"""Name, whether it is well, its state in words, the cure in words."""


def checks() -> list[Check]:
    """Never raises and imports nothing heavy."""
    return [_packages(), _weights(), _compiler()]


def _packages() -> Check:
    wanted = ("torch", "numpy", "tokenizers", "safetensors")
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        return ("model packages", False, f"missing: {', '.join(missing)}", "pip install 'patchdeck[model]'")
    return ("model packages", True, "installed", "")


def _weights() -> Check:
    from model.weights import weights_path

    path = weights_path()
    if path.exists():
        return ("model weights", True, f"{path.name}, {path.stat().st_size / 1e6:.0f} MB", "")
    return ("model weights", False, "not fetched yet", "patchdeck setup")


def _compiler() -> Check:
    from kernels.cpu.build import find_compiler

    found = find_compiler()
    if found is None:
        return (
            "C++ compiler",
            False,
            "none found, so the bundled model runs on PyTorch and slower",
            "apt-get install g++",
        )
    return ("C++ compiler", True, found, "")
