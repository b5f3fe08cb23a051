"""`patchdeck demo`: the whole product once, as the commands that a user would type."""

import contextlib
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
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
        12, "--budget-tests", min=1, help="Candidate patches an attempt may try."
    ),
) -> None:
    """Mine defects, let the bundled model repair them, score decks, train on the rewards, write the report.

    An interrupted demo goes on where it stopped; after a finished one, everything is done anew.
    """
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
    with model_server(out / "server.log") as url:
        model = ("--model", "bundled", "--base-url", f"{url}/v1", "--budget-tests", str(budget_tests))
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


@contextlib.contextmanager
def model_server(log: Path) -> Iterator[str]:
    """The bundled model's server on a free port; yields its address, and stops it at the end."""
    import httpx

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    typer.echo(f"\n$ patchdeck serve --port {port}", err=True)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "patchdeck.cli", "serve", "--port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 120
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                        break
                if server.poll() is not None or time.monotonic() > deadline:
                    raise DemoFailed(f"the model server did not start; {log} says why")
                time.sleep(0.2)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
