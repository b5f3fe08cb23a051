"""Where a history comes from: a URL cloned into the cache, a working tree, or a bare git directory."""

import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from tasks.git import GitError, NotARepository, Repository, open_repository

_URL = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:)", re.IGNORECASE)
_ACCEPTED = re.compile(r"^(?:https?|ssh|git|file)://|^[\w.-]+@[\w.-]+:", re.IGNORECASE)
_GENERIC_NAMES = frozenset({"repo", "repository", "git", "src", "checkout", "clone"})


@dataclass(frozen=True)
class Origin:
    """A repository with the name that its tasks carry: owner/name, or a folder's name."""

    repository: Repository
    name: str


def open_origin(repo: str) -> Origin:
    """Open REPO as `patchdeck mine` takes it. Raises NotARepository or GitError with one sentence."""
    if _URL.match(repo):
        return Origin(_clone(repo), _name_of_url(repo))
    path = Path(repo).expanduser().resolve()
    repository = open_repository(path)
    url = subprocess.run(
        repository.argv("config", "--get", "remote.origin.url"), capture_output=True, text=True, check=False
    ).stdout.strip()
    name = _name_of_url(url) if _URL.match(url) else _name_of_folder(repository.git_dir)
    return Origin(repository, name)


def _clone(url: str) -> Repository:
    """The cached bare clone of the URL, made or brought up to date."""
    if not _ACCEPTED.match(url):
        raise NotARepository(f"{url}: give an https, ssh, git or file URL")
    cache = user_cache_path("patchdeck", ensure_exists=True) / "repositories"
    cache.mkdir(exist_ok=True)
    # Two addresses may end in one name; the digest keeps them apart.
    slug = re.sub(r"[^\w.-]+", "-", _name_of_url(url)) + "-" + hashlib.sha256(url.encode()).hexdigest()[:8]
    place = cache / f"{slug}.git"
    with FileLock(cache / f"{slug}.lock"):
        if place.exists():
            repository = open_repository(place)
            _git_over_network(repository.argv("fetch", "--quiet", "--prune", "origin"), url)
            return repository
        partial = cache / f"{slug}.part"
        subprocess.run(["rm", "-rf", str(partial)], check=True)
        _git_over_network(["git", "clone", "--quiet", "--mirror", "--", url, str(partial)], url)
        partial.rename(place)
    return open_repository(place)


def _git_over_network(argv: list[str], url: str) -> None:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
    import os

    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **quiet})
    if done.returncode != 0:
        said = [line for line in done.stderr.strip().splitlines() if line] or ["git gave no reason"]
        raise GitError(f"{url} can't be cloned: {said[-1]}")


def _name_of_url(url: str) -> str:
    path = re.sub(r"^(?:[a-z][a-z0-9+.-]*://[^/]*/|[\w.-]+@[\w.-]+:)", "", url, flags=re.IGNORECASE)
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join(parts[-2:]) or "repository"


def _name_of_folder(git_dir: Path) -> str:
    folder = git_dir.parent if git_dir.name == ".git" else git_dir
    name = folder.name.removesuffix(".git")
    return folder.parent.name if name in _GENERIC_NAMES and folder.parent.name else name
