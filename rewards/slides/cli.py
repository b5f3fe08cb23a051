"""patchdeck score: an HTML deck in three layers."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tasks.store import write_whole

if TYPE_CHECKING:
    from rewards.slides.score import ScoredDeck


class BadOutput(RuntimeError):
    """The folder for the results can't be written."""


class NotScored(RuntimeError):
    """The deck has no score, through no fault of its own."""


def score_command(
    deck: Path = typer.Argument(help="An HTML file, or a folder that holds one or one file a page."),
    as_json: bool = typer.Option(False, "--json", help="Print the Reward as JSON and nothing else."),
    clip: str | None = typer.Option(
        None, "--clip", help="open_clip model NAME:PRETRAINED, or the path of a checkpoint."
    ),
    out: Path | None = typer.Option(None, "--out", help="Folder for reward.json and shots/page-NN.png."),
) -> None:
    """Score an HTML deck in three layers: markup, rendered page, look."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from rewards.slides.score import examine_deck
    from rewards.slides.static.source import open_deck

    open_deck(deck)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Opening the browser", total=None)

        def report(stage: str, done: int, total: int) -> None:
            progress.update(bar, description=stage, completed=done, total=total or None)

        scored = examine_deck(deck, clip=clip, report=report)
    if out is not None:
        _save(scored, out)
    if as_json:
        typer.echo(scored.reward.model_dump_json(indent=2))
    else:
        from rewards.slides.table import print_reward

        print_reward(scored.reward, str(deck), Console())
    if not scored.reward.valid:
        raise NotScored(f"{deck} has no score ({scored.reward.failure}): {scored.reward.failure_reason}")


def _save(scored: "ScoredDeck", out: Path) -> None:
    try:
        (out / "shots").mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise BadOutput(
            f"{out} can't be a folder for results ({error.strerror}): give another --out"
        ) from error
    write_whole(out / "reward.json", scored.reward.model_dump_json(indent=2).encode() + b"\n")
    if scored.capture is not None:
        for page in scored.capture.pages:
            write_whole(out / "shots" / f"page-{page.index:02d}.png", page.png)
