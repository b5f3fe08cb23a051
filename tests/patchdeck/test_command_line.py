"""The command line as a process: help is quick, errors are one sentence."""

import errno
import subprocess
import sys
import time

import pytest

from patchdeck.cli import COMMANDS, explained
from tasks.store import BadTaskFile


def patchdeck(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "patchdeck.cli", *arguments], capture_output=True, text=True)


def test_help_lists_every_command_and_loads_none_of_them() -> None:
    shown = patchdeck("--help")
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in COMMANDS)
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "patchdeck.cli", "--help"], capture_output=True, text=True
    ).stderr
    for heavy in ("torch", "numpy", "docker", "pandas", "fastapi", "pydantic", "openai"):
        assert f"| {heavy}\n" not in loaded.replace("  ", " "), heavy


def test_help_answers_in_half_a_second() -> None:
    fastest = min(_seconds_of_help() for _ in range(3))
    assert fastest < 0.5


def _seconds_of_help() -> float:
    started = time.perf_counter()
    patchdeck("--help")
    return time.perf_counter() - started


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    shown = patchdeck(command, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "Usage: patchdeck" in shown.stdout


def test_a_wrong_command_is_named() -> None:
    shown = patchdeck("mien")
    assert shown.returncode == 2
    assert "mien" in shown.stderr


def test_our_own_errors_are_a_sentence_and_defects_are_not() -> None:
    assert explained(BadTaskFile("t.jsonl, line 3: not JSON")) == "t.jsonl, line 3: not JSON"
    assert "disk is full (/x)" in (explained(OSError(errno.ENOSPC, "no space", "/x")) or "")
    assert "patchdeck[model]" in (explained(ModuleNotFoundError(name="torch.nn")) or "")
    assert explained(KeyError("x")) is None
    assert explained(ModuleNotFoundError(name="surprise")) is None
