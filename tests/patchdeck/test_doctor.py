"""The doctor names each requirement once, with its state and a cure for what is missing."""

import json
import subprocess
import sys

from patchdeck.doctor import gather


def test_every_room_has_its_say_and_none_twice() -> None:
    names = [name for name, _, _, _ in gather()]
    assert len(names) == len(set(names))
    assert {"Docker engine", "sandbox base image", "browser image", "git", "model weights"} <= set(names)
    assert all(state and (ok or cure) for _, ok, state, cure in gather())


def test_json_is_all_that_is_printed() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "patchdeck.cli", "doctor", "--json"], capture_output=True, text=True
    )
    checks = json.loads(shown.stdout)
    assert shown.returncode == (0 if all(check["ok"] for check in checks) else 1)
    assert {"name", "ok", "state", "cure"} == set(checks[0])
