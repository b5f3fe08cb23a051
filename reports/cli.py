"""`patchdeck report`."""

from pathlib import Path

import typer

from tasks.store import write_whole


def report_command(
    run: str = typer.Argument("", help="A run's id or folder; without it, the index of all runs is written."),
    runs: Path = typer.Option(Path("runs"), "--runs", help="The folder that holds the runs."),
    out: Path = typer.Option(
        None, "--out", help="Where to write the page. [default: report.html in the run's folder]"
    ),
) -> None:
    """Write a run's report, or without RUN the index of all runs, as one HTML file.

    The file holds everything it shows: it opens from disk, asks no network and runs no script.
    """
    from reports.page import index_page, run_page
    from reports.run_files import RunUnreadable, read_run, read_runs

    if not run:
        found = read_runs(runs)
        if not found:
            raise RunUnreadable(
                f"there are no runs in {runs}: make one with `patchdeck run`, or name its folder with --runs"
            )
        target = out or runs / "index.html"
        write_page(target, index_page(runs, found))
    else:
        folder = runs / run if (runs / run / "run.json").is_file() else Path(run)
        one = read_run(folder)
        target = out or folder / "report.html"
        write_page(target, run_page(one, read_runs(folder.parent)))
    typer.echo(target)


def write_page(target: Path, page: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, page.encode())
