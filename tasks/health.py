"""What mining needs of the machine, for `patchdeck doctor`."""

import shutil
import subprocess


def checks() -> list[tuple[str, bool, str, str]]:
    """(name, ok, state, cure) for each requirement; never raises."""
    found = shutil.which("git")
    if found is None:
        return [("git", False, "not on the path", "install git (`apt-get install git`)")]
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError) as error:
        return [("git", False, f"does not start: {error}", "reinstall git")]
    return [("git", True, done.stdout.strip().removeprefix("git version "), "")]
