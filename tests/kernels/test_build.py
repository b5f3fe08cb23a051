from pathlib import Path

import pytest

from kernels.cpu.build import NoCompiler, library
from kernels.registry import best_kernels


def test_without_a_compiler_pytorch_runs_and_one_sentence_says_so_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    assert best_kernels(2, said.append).name == "PyTorch"
    assert best_kernels(2, said.append).name == "PyTorch"
    assert len(said) == 1
    assert "install g++" in said[0]


def test_a_compiler_that_fails_is_named_with_its_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho 'error: no C++20 here' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(NoCompiler, match=r"no C\+\+20 here"):
        library(tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.so"))


def test_a_build_is_kept(tmp_path: Path) -> None:
    made = library(tmp_path)
    before = made.stat().st_mtime_ns
    assert library(tmp_path) == made
    assert made.stat().st_mtime_ns == before
    assert [path.suffix for path in tmp_path.iterdir() if path != made] in ([], [".lock"])
