"""The command line: a table of commands, each loaded from its own package when it is called."""

import errno
import importlib
import sys
from collections.abc import Callable
from typing import Any

import typer

COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("patchdeck.provision", "Install and build what patchdeck needs: engine, images, weights."),
    "doctor": ("patchdeck.doctor", "Print each requirement, its state and the cure."),
    "demo": ("patchdeck.demo", "Mine, repair, score, train and report, on the sample or a repository."),
    "mine": ("tasks.cli", "Mine defects with their tests from a git history."),
    "run": ("harness.cli", "Let an agent attempt tasks; the same command resumes."),
    "grade": ("harness.cli", "Score patches made elsewhere."),
    "status": ("harness.cli", "How far a run has come."),
    "shell": ("harness.cli", "Stand in a task's sandbox."),
    "score": ("rewards.slides.cli", "Score an HTML deck in three layers."),
    "serve-rewards": ("rewards.service.cli", "Serve rewards over HTTP."),
    "serve": ("model.server.cli", "Serve the bundled model on an OpenAI-compatible API."),
    "train": ("model.rl.cli", "Update the bundled model from a run's experience."),
    "report": ("reports.cli", "Write a run's HTML report, or the index of all runs."),
    "reap": ("sandboxes.cli", "Remove containers and volumes that dead runs left behind."),
}
"""Command name to the module that holds its function `<name>_command` and its one-line help."""

ROOMS = frozenset({"kernels", "sandboxes", "tasks", "rewards", "model", "harness", "reports", "patchdeck"})


def application(arguments: list[str]) -> typer.Typer:
    """The Typer application, with only the command that the arguments name imported."""
    app = typer.Typer(
        name="patchdeck",
        help="Sandbox evaluation harness for agentic coding and HTML slide decks.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_version_option)
    named = next((a for a in arguments if not a.startswith("-")), None)
    for name, (module, short_help) in COMMANDS.items():
        if name == named:
            function: Callable[..., Any] = getattr(
                importlib.import_module(module), f"{name.replace('-', '_')}_command"
            )
            app.command(name)(function)
        else:
            app.command(name, help=short_help)(_not_loaded)
    return app


def _not_loaded() -> None:
    """Stands in for the commands that this call does not use."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("patchdeck"))
        raise typer.Exit


def _version_option(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    """Sandbox evaluation harness for agentic coding and HTML slide decks."""


EXTRAS = {
    **dict.fromkeys(("torch", "tokenizers", "safetensors"), "model"),
    **dict.fromkeys(("numpy", "PIL", "open_clip", "scipy"), "visual"),
}
"""Import name of a package that a lean install lacks, to the extra that brings it."""


def main() -> None:
    """Run the command line. An error class of ours is one sentence; any other is a defect and shows whole."""
    try:
        application(sys.argv[1:])(prog_name="patchdeck")
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:
        sentence = explained(error)
        if sentence is None:
            raise
        typer.echo(f"error: {sentence}", err=True)
        sys.exit(1)


def explained(error: Exception) -> str | None:
    """The sentence for a user, or None where the error is a defect of ours."""
    if type(error).__module__.split(".")[0] in ROOMS:
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get((error.name or "").split(".")[0])
        return extra and f"{error.name} is not installed: pip install 'patchdeck[{extra}]'"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        where = error.filename or "while writing"
        return f"the disk is full ({where}): free room and run the same command again, it goes on from here"
    if isinstance(error, PermissionError):
        return (
            f"no permission for {error.filename}: run as a user who may write there, or name another folder"
        )
    return None


if __name__ == "__main__":
    main()
