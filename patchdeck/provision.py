"""`patchdeck setup`: everything that is not a Python package, made once and found again."""

import time
from collections.abc import Callable, Iterator

Report = Callable[[str], None]


def steps() -> Iterator[tuple[str, Callable[[Report], object]]]:
    """What is made, in order; each step is quick where its result is there already."""
    from model.weights import ensure_weights
    from sandboxes.browser.image import ensure_browser_image
    from sandboxes.engine import ensure_engine
    from sandboxes.images import ensure_base

    yield "Docker engine", ensure_engine
    yield "sandbox base image", lambda report: ensure_base(report=report)
    yield "browser image", ensure_browser_image
    yield "model weights", ensure_weights


def setup_command() -> None:
    """Install and build what patchdeck needs: the Docker engine, the images, the model's weights.

    Run it again at any time: what is there is left alone, what was interrupted goes on.
    """
    from rich.console import Console

    console = Console(stderr=True)
    for name, make in steps():
        started = time.monotonic()
        with console.status(f"{name} …") as status:

            def report(message: str, name: str = name) -> None:
                status.update(f"{name}: {message}")
                if not console.is_terminal:
                    console.print(f"{name}: {message}", highlight=False)

            make(report)
        console.print(f"[green]✓[/] {name} [dim]{time.monotonic() - started:.1f} s[/]", highlight=False)
