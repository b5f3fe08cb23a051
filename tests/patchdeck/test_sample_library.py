"""The sample library is the same repository on every machine."""

import re
import subprocess
from pathlib import Path

import pytest

from patchdeck.sample.library import HEAD, SampleBroken, build

FIX = re.compile(r"\b(fix(e[sd])?|bug(fix)?|regression)\b", re.IGNORECASE)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_history_is_rebuilt_to_the_same_commit(tmp_path: Path) -> None:
    folder = build(tmp_path / "stockroom")
    assert git(folder, "rev-parse", "HEAD") == HEAD
    assert git(folder, "status", "--porcelain") == ""
    assert build(folder) == folder


def test_history_holds_what_the_sample_promises(tmp_path: Path) -> None:
    folder = build(tmp_path / "stockroom")
    subjects = git(folder, "log", "--no-merges", "--format=%s").splitlines()
    assert len(subjects) >= 30
    fixes = git(folder, "log", "--no-merges", "--format=%h", "-i", "-E", "--grep=^Fix ").split()
    assert sum(bool(FIX.search(s)) for s in subjects) == len(fixes) >= 10
    over_several_files = 0
    for fix in fixes:
        paths = git(folder, "show", "--format=", "--name-only", fix).splitlines()
        assert any(p.startswith("tests/") for p in paths)
        source = [p for p in paths if p.startswith("stockroom/")]
        assert source
        over_several_files += len(source) > 1
    assert over_several_files >= 2
    assert git(folder, "log", "--merges", "--format=%s") == "Merge branch 'prize-draw'"


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(SampleBroken, match="something else"):
        build(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]
