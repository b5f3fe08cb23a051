"""A small library whose history holds each kind of commit that mining must tell apart, mined once."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.mining.funnel import Funnel
from tasks.store import load_tasks
from tasks.task import PatchTask

START = {
    ".gitignore": "*.pyc\n",
    "shelf.py": (
        "def total(prices):\n    return prices[0] + sum(prices[1:])\n\n\n"
        "def count(prices):\n    return len(prices)\n"
    ),
    "tests/test_shelf.py": (
        "import shelf\n\n\ndef test_total():\n    assert shelf.total([1, 2]) == 3\n\n\n"
        "def test_count():\n    assert shelf.count([1]) == 1\n"
    ),
}
WAVERING = """import os

import pytest


def test_wavers():
    draw = os.urandom(1)[0] % 4
    if draw == 1:
        pytest.skip("drawn")
    if draw == 2:
        pytest.xfail("drawn")
    assert draw == 0
"""


class History:
    """A git history written commit by commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        # Old enough for --since to pass over.
        dates = {"GIT_AUTHOR_DATE": "2024-05-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-05-01T00:00:00Z"}
        who = {**dates, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t"}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **who, "GIT_COMMITTER_EMAIL": "t@t", "GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, changes: dict[str, str]) -> str:
        for path, text in changes.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()


@dataclass(frozen=True)
class Shelf:
    """The history, with its commits by what they are."""

    folder: Path
    commits: dict[str, str]


@dataclass(frozen=True)
class Mined:
    shelf: Shelf
    out: Path
    tasks: dict[str, PatchTask]
    funnel: Funnel
    stderr: str

    def task(self, kind: str) -> PatchTask:
        """The task mined from the commit of that kind."""
        return next(t for t in self.tasks.values() if t.source.fix_commit == self.shelf.commits[kind])


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def patchdeck() -> Command:
    """Runs the command line in a process of its own."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "patchdeck.cli", *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    history = History(tmp_path_factory.mktemp("history") / "shelf")
    commits = {"start": history.commit("Start", START)}
    history.commit("Add a test that wavers", {"tests/test_waver.py": WAVERING})
    source, tests = history.read("shelf.py"), history.read("tests/test_shelf.py")

    source = source.replace("prices[0] + sum(prices[1:])", "sum(prices)")
    tests += "\n\ndef test_total_of_nothing():\n    assert shelf.total([]) == 0\n"
    commits["f2p"] = history.commit(
        "Fix total of an empty shelf\n\ntest_total_of_nothing shows it.\nAn empty list has no first price.",
        {"shelf.py": source, "tests/test_shelf.py": tests},
    )
    source += '\n\ndef label(price):\n    return f"{price:.2f}"\n'
    tests += (
        "\n\nimport pytest\n\n\n@pytest.mark.skipif(not hasattr(shelf, 'label'), reason='no label')\n"
        "def test_label():\n    assert shelf.label(1) == '1.00'\n"
    )
    commits["s2p"] = history.commit("Fix labels", {"shelf.py": source, "tests/test_shelf.py": tests})

    history.git("checkout", "-q", "-b", "side")
    merged_source = source + "\n\ndef biggest(prices):\n    return max(prices)\n"
    history.commit("Add biggest", {"shelf.py": merged_source})
    history.git("checkout", "-q", "main")
    history.commit("Say more in the read-me", {"README": "shelf\n"})
    history.git("merge", "-q", "--no-ff", "side", "-m", "Merge the fix of biggest")
    commits["merge"] = history.git("rev-parse", "HEAD")

    source = merged_source + "\n\ndef cheapest(prices):\n    return min(prices, default=None)\n"
    new_file = "from shelf import cheapest\n\n\ndef test_cheapest():\n    assert cheapest([]) is None\n"
    commits["n2p"] = history.commit(
        "Fix the missing cheapest", {"shelf.py": source, "tests/test_cheapest.py": new_file}
    )
    tests += "\n\ndef test_count_of_nothing():\n    assert shelf.count([]) == 0\n"
    source = source.replace("return len(prices)", "return sum(1 for _ in prices)")
    commits["refactoring"] = history.commit(
        "Fix the style of count", {"shelf.py": source, "tests/test_shelf.py": tests}
    )
    broken = source.replace("return max(prices)", "return max(prices, default=0)").replace(
        "return sum(prices)", "return sum(prices) + 1"
    )
    tests += "\n\ndef test_biggest_of_nothing():\n    assert shelf.biggest([]) == 0\n"
    commits["breaks"] = history.commit(
        "Fix biggest and break total", {"shelf.py": broken, "tests/test_shelf.py": tests}
    )
    return Shelf(history.folder, commits)


@pytest.fixture(scope="session")
def mined(shelf: Shelf, patchdeck: Command, tmp_path_factory: pytest.TempPathFactory) -> Mined:
    out = tmp_path_factory.mktemp("mined") / "tasks.jsonl"
    done = patchdeck("mine", str(shelf.folder), "--fix-worded", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    funnel = Funnel.model_validate_json(out.with_name("tasks.funnel.json").read_bytes())
    tasks = {t.id: t for t in load_tasks(out) if isinstance(t, PatchTask)}
    return Mined(shelf, out, tasks, funnel, done.stderr)
