"""Two real tasks, mined once a session from a small history of our own into real images."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """def clamp(value, low, high):
    return max(low, min(value, {high}))


def mean(values):
    return sum(values) / {count}
"""
TESTS = """from shelf import clamp, mean


def test_inside():
    assert clamp(3, 1, 5) == 3


def test_mean_of_one():
    assert mean([4]) == 4
"""
ABOVE = "\n\ndef test_above():\n    assert clamp(9, 1, 5) == 5\n"
MEAN = "\n\ndef test_mean_of_two():\n    assert mean([2, 4]) == 3\n"
HISTORY = [
    ("Add the shelf", SOURCE.format(high="value", count="1"), TESTS),
    ("Fix clamp above its upper bound", SOURCE.format(high="high", count="1"), TESTS + ABOVE),
    ("Fix the mean of several values", SOURCE.format(high="high", count="len(values)"), TESTS + ABOVE + MEAN),
]


@pytest.fixture(scope="session")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tasks.jsonl of two defects, newest first; `patchdeck mine` made it."""
    repo = tmp_path_factory.mktemp("mined") / "shelf"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    for minute, (subject, source, tests) in enumerate(HISTORY):
        (repo / "shelf.py").write_text(source)
        (repo / "test_shelf.py").write_text(tests)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", subject, moment=f"2024-01-01T12:0{minute}:00+00:00")
    out = repo.parent / "tasks.jsonl"
    done = patchdeck("mine", str(repo), "--fix-worded", "--limit", "2", "--out", str(out))
    assert done.returncode == 0 and len(out.read_bytes().splitlines()) == 2, done.stderr
    return out


def patchdeck(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run one of our commands to its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, env={**os.environ, **variables}
    )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "patchdeck.cli", *arguments]


def git(repo: Path, *arguments: str, moment: str = "2024-01-01T12:00:00+00:00") -> None:
    who = {f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")}
    mail = {f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")}
    when = {f"GIT_{role}_DATE": moment for role in ("AUTHOR", "COMMITTER")}
    environment = {**os.environ, **who, **mail, **when, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], cwd=repo, check=True, env=environment)
