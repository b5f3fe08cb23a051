"""`patchdeck mine` from its arguments to its last line."""

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from filelock import FileLock, Timeout

from sandboxes.engine import ensure_engine
from sandboxes.reaper import reap
from tasks.languages.language import Language, recognise
from tasks.mining.display import Display
from tasks.mining.funnel import Funnel, MiningFolder, Outcome
from tasks.mining.history import Candidate, as_candidate, commits
from tasks.mining.miner import Miner, Update
from tasks.mining.origin import Origin, open_origin


class NothingToMine(RuntimeError):
    """The history holds no candidate, with why."""


class OutputInUse(RuntimeError):
    """Another mining run writes to the same place."""


def mine(
    repo: str, *, limit: int | None, fix_worded: bool, since: str | None, out: Path, workers: int
) -> Funnel:
    """Mine and return the funnel. Raises the rooms' own errors, one sentence each."""
    with Display() as display:
        display.say(f"reading {repo}")
        origin = open_origin(repo)
        head_paths = [entry.path for entry in origin.repository.tree("HEAD")]
        language = recognise(head_paths)
        seen, candidates = _candidates(origin, language, limit=limit, fix_worded=fix_worded, since=since)
        if not candidates:
            raise NothingToMine(
                _why_nothing(repo, seen, head_paths, language, fix_worded=fix_worded, since=since)
            )
        display.begin(seen, candidates)
        folder = MiningFolder(out)
        folder.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.folder / ".lock", timeout=0)
        try:
            with lock:
                return _mine(origin, language, folder, seen, candidates, display, fix_worded, since, workers)
        except Timeout:
            raise OutputInUse(
                f"another `patchdeck mine` is writing to {out}: wait for it or give another --out"
            ) from None


def mining_run_id(out: Path) -> str:
    """The run label of whatever mines into this tasks file."""
    return "mine-" + hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:12]


def _mine(
    origin: Origin,
    language: Language,
    folder: MiningFolder,
    seen: int,
    candidates: list[Candidate],
    display: Display,
    fix_worded: bool,
    since: str | None,
    workers: int,
) -> Funnel:
    run_id = mining_run_id(folder.out)
    ensure_engine(lambda state: display.say(f"Docker engine: {state}"))
    # The lock is held, so whatever carries this run's label was left by a run that was killed.
    reap(run_id)
    known: dict[str, Outcome] = {}

    def funnel() -> Funnel:
        outcomes = [known[c.commit.id] for c in candidates if c.commit.id in known]
        return Funnel(
            repo=origin.name,
            head=origin.repository.run("rev-parse", "HEAD").decode().strip(),
            fix_worded=fix_worded,
            since=since,
            commits=seen,
            candidates=len(candidates),
            environments=sum(o.environment_built for o in outcomes),
            validated=sum(o.validated for o in outcomes),
            with_f2p=sum(o.validated and "f2p" in o.fail_to_pass for o in outcomes),
            fallen=tuple(o for o in outcomes if not o.validated),
        )

    def told(update: Update) -> None:
        display.update(update)
        if update.outcome is not None:
            known[update.outcome.commit] = update.outcome
            folder.write_funnel(funnel())

    miner = Miner(origin, language, folder, run_id, told)
    try:
        miner.mine(candidates, workers=workers)
    finally:
        reap(run_id)
    made = funnel()
    folder.write_funnel(made)
    display.end(made, folder)
    return made


def _candidates(
    origin: Origin, language: Language, *, limit: int | None, fix_worded: bool, since: str | None
) -> tuple[int, list[Candidate]]:
    """(commits seen, candidates newest first); reading stops where the limit is reached."""
    seen = 0

    def found() -> Iterator[Candidate]:
        nonlocal seen
        for commit in commits(origin.repository, since=since):
            seen += 1
            candidate = as_candidate(commit, language, fix_worded=fix_worded)
            if candidate is not None:
                yield candidate

    chosen = list(islice(found(), limit))
    return seen, chosen


def _why_nothing(
    repo: str, seen: int, head_paths: list[str], language: Language, *, fix_worded: bool, since: str | None
) -> str:
    if seen == 0:
        return f"{repo} has no commit since {since}: give an earlier --since"
    if not any(language.is_test_path(path) for path in head_paths):
        return f"{repo} has no tests, so nothing can tell a fix: name a repository with a test suite"
    wanted = " that speaks of a fix" if fix_worded else ""
    return (
        f"none of {seen} commits of {repo}{wanted} changes tests and source together: "
        "widen --since or drop --fix-worded"
    )
