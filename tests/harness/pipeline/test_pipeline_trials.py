"""The program that tries candidates inside a sandbox, run here as it is there: a process of its own."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness.agents.pipeline.inside as inside

PROGRAMS = Path(inside.__file__).parent
SOURCE = "def double(x):\n    return x + 3\n"
TESTS = """from shelf import double


def test_double():
    assert double(2) == 4


def test_same():
    assert True
"""
WANTED = "test_shelf.py::test_double"


def tried(folder: Path, *sources: str, outside: tuple[str, ...] = (), seconds: float = 20) -> list[dict]:  # type: ignore[type-arg]
    """What became of each candidate for shelf.py, in order."""
    tree, tools = folder / "tree", folder / "tools"
    tree.mkdir(exist_ok=True)
    tools.mkdir(exist_ok=True)
    for name in ("probe.py", "try_candidates.py"):
        (tools / name).write_bytes((PROGRAMS / name).read_bytes())
    (tree / "shelf.py").write_text(SOURCE)
    os.utime(tree / "shelf.py", (1_600_000_000, 1_600_000_000))
    (tree / "test_shelf.py").write_text(TESTS)

    def run(name: str, only: list[str] | None, coverage: bool) -> dict[str, object]:
        report, config = tools / f"{name}-report.json", tools / f"{name}.json"
        settings = {"root": str(tree), "out": str(report), "first": [], "only": only, "coverage": coverage}
        config.write_text(json.dumps({**settings, "test_s": 10, "deadline_s": 60, "stop_on_failure": False}))
        argv = [sys.executable, str(tools / "probe.py"), str(config), "-q", "test_shelf.py"]
        return {"argv": argv, "config": str(config), "report": str(report), "timeout_s": seconds}

    before = run("before", None, True)
    subprocess.run(before["argv"], cwd=tree, stdout=subprocess.DEVNULL, check=False)  # type: ignore[call-overload]
    job = {
        "root": str(tree),
        "out": str(tools / "tried.jsonl"),
        "failing": run("failing", [WANTED], False),
        "suite": run("suite", None, False),
        "outside": list(outside),
        "until_s": 120,
        "wanted": [WANTED],
        "must_pass": ["test_shelf.py::test_same"],
        "candidates": [
            {"id": i, "path": "shelf.py", "content": base64.b64encode(source.encode()).decode()}
            for i, source in enumerate(sources)
        ],
    }
    (tools / "job.json").write_text(json.dumps(job))
    subprocess.run([sys.executable, str(tools / "try_candidates.py"), str(tools / "job.json")], check=True)
    assert (tree / "shelf.py").read_text() == SOURCE
    return [json.loads(line) for line in (tools / "tried.jsonl").read_text().splitlines()]


def outcome(told: dict) -> str | None:  # type: ignore[type-arg]
    return (told["failing"]["outcomes"] or {}).get(WANTED)


def test_candidates_of_one_size_in_one_second_are_told_apart(tmp_path: Path) -> None:
    told = tried(tmp_path, SOURCE.replace("3", "5"), SOURCE.replace("3", "4"), SOURCE.replace("3", "2"))
    assert [outcome(t) for t in told] == ["failed", "failed", "passed"]
    assert told[-1]["suite"]["outcomes"]["test_shelf.py::test_same"] == "passed" and not told[-1]["regressed"]


@pytest.mark.parametrize(
    ("poison", "timed_out"),
    [
        ("import os\nos._exit(0)\n", False),
        ("import sys\nsys.exit(0)\n", False),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", False),
        ("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass\n", True),
        ("import os\nos.close(1)\nos.chdir('/')\nraise SystemExit\n", False),
    ],
)
def test_a_candidate_that_ends_or_hangs_its_process_costs_only_itself(
    tmp_path: Path, poison: str, timed_out: bool
) -> None:
    told = tried(tmp_path, poison + SOURCE, SOURCE.replace("3", "2"), seconds=4)
    assert outcome(told[0]) is None and told[0]["failing"]["timed_out"] is timed_out
    assert outcome(told[1]) == "passed"


def test_what_a_candidate_started_ends_with_it(tmp_path: Path) -> None:
    mark = f"patchdeck-left-{tmp_path.name}"
    sleeper = f"[sys.executable, '-c', 'import time; time.sleep(60)', '{mark}']"
    tried(tmp_path, f"import subprocess, sys\nsubprocess.Popen({sleeper})\n" + SOURCE)
    lines = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if os.access(p, os.R_OK)]
    assert not [line for line in lines if mark.encode() in line]


def test_a_plugin_that_holds_the_library_under_repair_does_not_hide_candidates(tmp_path: Path) -> None:
    """Forks would keep the old shelf: each process must begin anew then."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "conftest.py").write_text("import shelf\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "needs_shelf.py").write_text(
        "import sys\nsys.path.insert(0, " + repr(str(tmp_path / "tree")) + ")\nimport shelf\n"
    )
    told = tried(tmp_path, SOURCE.replace("3", "4"), SOURCE.replace("3", "2"), outside=("needs_shelf",))
    assert [outcome(t) for t in told] == ["failed", "passed"]
