"""Rebuilds the sample library's git history from its patch series."""

import os
import subprocess
import tempfile
from pathlib import Path

HISTORY = Path(__file__).parent / "history"
HEAD = "e7781e85adae04fb79cdd99b58e41c7f62139a6b"
"""The commit that the series ends in: names and dates are the series' own, so it never changes."""


class SampleBroken(RuntimeError):
    """The series did not apply."""


def build(folder: Path) -> Path:
    """Write the library's repository into folder, unless it is there already; returns the folder.

    The series file lists, in order, a patch, `branch NAME` (go to that branch, made where it is new), or
    `merge BRANCH<tab>name<tab>address<tab>date`. Raises SampleBroken where git refuses one of them.
    """
    if (folder / ".git").is_dir() and _git(folder, "rev-parse", "HEAD", check=False).strip() == HEAD:
        return folder
    if folder.exists() and any(folder.iterdir()):
        raise SampleBroken(f"{folder} holds something else: name an empty folder for the sample library")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as unfinished:
        repository = Path(unfinished) / "repository"
        repository.mkdir()
        _replay(repository)
        repository.replace(folder)
    return folder


def _replay(folder: Path) -> None:
    _git(folder, "init", "-q", "-b", "main")
    for line in (HISTORY / "series").read_text().splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "branch":
            known = _git(folder, "branch", "--list", rest).strip()
            _git(folder, "checkout", "-q", *(() if known else ("-b",)), rest)
        elif verb == "merge":
            branch, name, address, date = rest.split("\t")
            _merge(folder, branch, name, address, date)
        else:
            _apply(folder, HISTORY / line)
    if _git(folder, "rev-parse", "HEAD").strip() != HEAD:
        raise SampleBroken(
            f"the sample library in {folder} does not end in {HEAD[:12]}: its series was changed"
        )


def _apply(folder: Path, patch: Path) -> None:
    name, address = "", ""
    for line in patch.read_text().splitlines():
        if line.startswith("From: "):
            name, _, address = line.removeprefix("From: ").rpartition(" ")
            break
    committer = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address.strip("<>")}
    _git(folder, "am", "-q", "--keep-cr", "--committer-date-is-author-date", str(patch), env=committer)


def _merge(folder: Path, branch: str, name: str, address: str, date: str) -> None:
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", name), ("EMAIL", address), ("DATE", date))
    }
    _git(folder, "merge", "-q", "--no-ff", "-m", f"Merge branch '{branch}'", branch, env=who)


def _git(folder: Path, *arguments: str, env: dict[str, str] | None = None, check: bool = True) -> str:
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "TZ": "UTC"}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **plain, **(env or {})},
    )
    if check and done.returncode:
        raise SampleBroken(f"git {arguments[0]} failed in {folder}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout
