"""`patchdeck shell`: one command, and a person at a terminal."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tasks.store import load_tasks
from tests.harness.conftest import command, patchdeck
from tests.harness.test_run_process import containers


@pytest.mark.parametrize(("shown", "there"), [("shown", True), ("hidden", False)])
def test_one_command_in_the_tree_that_an_agent_sees(tasks_file: Path, shown: str, there: bool) -> None:
    task = load_tasks(tasks_file)[0].id
    done = patchdeck("shell", str(tasks_file), task, "--tests", shown, "-c", "pwd; cat *.py; exit 3")
    assert done.returncode == 3
    assert done.stdout.startswith("/testbed\n")
    assert ("def test_mean_of_two" in done.stdout) is there
    assert containers("shell") == []


def test_a_terminal_is_joined_to_the_sandbox(tasks_file: Path) -> None:
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        command("shell", str(tasks_file), load_tasks(tasks_file)[0].id),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, b"tty; echo $((6*7))s; exit 5\n")
    seen = b""
    while chunk := read(ours):
        seen += chunk
    assert shell.wait(60) == 5
    assert b"/dev/pts/" in seen and b"42s" in seen, seen.decode(errors="replace")
    assert containers("shell") == []


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""  # Linux tells the other side's end so
