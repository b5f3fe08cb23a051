"""The command `patchdeck reap`."""

import typer


def reap_command(
    run_id: str = typer.Option(
        "", "--run", help="Also remove what this run left, even if its process lives."
    ),
) -> None:
    """Remove containers, volumes and cached trees that dead runs left behind."""
    from sandboxes.reaper import reap

    removed = reap(run_id or None)
    for line in removed:
        typer.echo(line)
    typer.echo(f"{len(removed)} removed" if removed else "nothing was left behind")
