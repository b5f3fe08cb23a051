"""Command: mine."""

from pathlib import Path
from typing import Annotated

import typer


def mine_command(
    repo: Annotated[str, typer.Argument(help="A URL, a git working tree, or a bare git directory.")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Judge this many candidates, newest first.")
    ] = None,
    fix_worded: Annotated[
        bool,
        typer.Option("--fix-worded", help="Only commits whose subject speaks of a fix, bug or regression."),
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="Only commits younger than this date, as git reads it.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Tasks file to append to.")] = Path("tasks.jsonl"),
    workers: Annotated[int, typer.Option(min=1, help="Candidates judged at once.")] = 2,
) -> None:
    """Mine defects with their tests from a git history.

    Each candidate commit gets an environment from the repository's own declarations, and its tests are run
    three times before and three times with the fix, offline, in fresh containers. The same command goes on
    where a killed one stopped.
    """
    from tasks.mining.command import mine

    mine(repo, limit=limit, fix_worded=fix_worded, since=since, out=out, workers=workers)
