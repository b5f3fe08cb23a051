"""`patchdeck demo`: the whole product once, as the commands that a user would type."""

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import typer

RUN = "demo"
SAMPLE_DECKS = Path(__file__).parent / "sample" / "decks"
DECKS = ("tides", "quarterly", "neon")
FINISHED = "finished"


class DemoFailed(RuntimeError):
    """A command of the demo failed; what it printed says why."""


def demo_command(
    repo: str = typer.Argument(
        "", help="A repository to mine: URL or path. Without it, the bundled sample library."
    ),
    out: Path = typer.Option(Path("demo"), "--out", help="Folder for tasks, runs and the report."),
    limit: int = typer.Option(3, "--limit", min=1, help="Candidates to mine."),
    attempts: int = typer.Option(2, "--attempts", min=1, help="Attempts of the model at each task."),
    budget_tests: int = typer.Option(
        8, "--budget-tests", min=1, help="Candidate patches an attempt may try."
    ),
) -> None:
    """Mine defects, let the bundled model repair them, score decks, train on the rewards, write the report.

    An interrupted demo goes on where it stopped; after a finished one, everything is done anew.
    """
    from harness.runs.bundled import bundled_server
    from patchdeck.provision import setup_command

    started = time.monotonic()
    if (out / FINISHED).exists():
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    setup_command()
    tasks, runs = out / "tasks.jsonl", out / "runs"
    if not repo:
        from patchdeck.sample.library import build

        repo = str(build(out / "stockroom"))
    patchdeck("mine", repo, "--fix-worded", "--limit", str(limit), "--out", str(tasks))
    run = ["run", str(tasks), "--runs", str(runs)]
    patchdeck(*run, "--agent", "gold", "--run-id", "gold")
    patchdeck(*run, "--agent", "empty", "--run-id", "empty")
    with bundled_server(out / "server.log") as url:
        model = ("--model", "bundled", "--base-url", url, "--budget-tests", str(budget_tests))
        patchdeck(*run, "--agent", "pipeline", *model, "--attempts", str(attempts), "--run-id", RUN)
        score_decks(runs / RUN)
        patchdeck("train", "--from", RUN, "--runs", str(runs), "--server", url)
        patchdeck(
            *run,
            "--agent",
            "pipeline",
            *model,
            "--attempts",
            "1",
            "--run-id",
            f"{RUN}-trained",
            "--seed",
            "1",
        )
    for name in ("gold", "empty", f"{RUN}-trained", RUN):
        patchdeck("report", name, "--runs", str(runs), quiet=True)
    patchdeck("report", "--runs", str(runs), quiet=True)
    (out / FINISHED).touch()
    typer.echo(f"\ndone in {time.monotonic() - started:.0f} s; open this in a browser:", err=True)
    typer.echo((runs / RUN / "report.html").resolve())


def score_decks(run: Path) -> None:
    """Score the sample's decks into the run, each under its own name."""
    for name in DECKS:
        patchdeck("score", str(SAMPLE_DECKS / name), "--out", str(run / "decks" / name))


def patchdeck(*arguments: str, quiet: bool = False) -> None:
    """Print and run one command of ours. Raises DemoFailed where it fails."""
    typer.echo(f"\n$ patchdeck {shlex.join(arguments)}", err=True)
    done = subprocess.run(
        [sys.executable, "-m", "patchdeck.cli", *arguments], stdout=subprocess.DEVNULL if quiet else None
    )
    if done.returncode:
        raise DemoFailed(
            f"`patchdeck {arguments[0]}` ended with exit code {done.returncode}; mend what it says above and "
            "run the demo again: it goes on from there"
        )
