"""What `patchdeck doctor` asks of this package."""

import shutil
from pathlib import Path

from platformdirs import user_cache_path

ROOM_GB = 5


def checks() -> list[tuple[str, bool, str, str]]:
    """(name, ok, state, cure) of the engine, the images and the disk's room. Never raises."""
    from sandboxes.browser import health as browser

    return [_engine(), _base(), *browser.checks(), _room()]


def _engine() -> tuple[str, bool, str, str]:
    from sandboxes.engine import client
    from sandboxes.sandbox import SandboxFault

    try:
        version = client().version()["Version"]
    except SandboxFault as error:
        return "Docker engine", False, str(error).partition(":")[0], "patchdeck setup"
    except OSError:
        return "Docker engine", False, "it stopped answering", "patchdeck setup"
    return "Docker engine", True, f"version {version}", ""


def _base() -> tuple[str, bool, str, str]:
    from sandboxes.base import base_tag
    from sandboxes.build import image_exists
    from sandboxes.sandbox import SandboxFault

    tag = base_tag()
    try:
        present = image_exists(tag)
    except SandboxFault:
        return "sandbox base image", False, "unknown without an engine", "patchdeck setup"
    return (
        "sandbox base image",
        present,
        tag if present else "not made yet",
        "" if present else "patchdeck setup",
    )


def _room() -> tuple[str, bool, str, str]:
    folder = Path("/var/lib/docker")
    folder = folder if folder.exists() else user_cache_path("patchdeck", ensure_exists=True)
    free = shutil.disk_usage(folder).free / 1e9
    return (
        "disk room",
        free >= ROOM_GB,
        f"{free:.0f} GB free at {folder}",
        f"free at least {ROOM_GB} GB there",
    )
