"""`patchdeck doctor`: each requirement, its state, and the cure."""

import importlib
import json

import typer

ROOMS_WITH_CHECKS = ("sandboxes", "tasks", "rewards", "harness", "model")

Check = tuple[str, bool, str, str]
"""name, whether it holds, its state in words, the cure in words"""


def gather() -> list[Check]:
    """Every room's own checks, in the order in which a newcomer would meet them."""
    found: list[Check] = []
    for room in ROOMS_WITH_CHECKS:
        found.extend(importlib.import_module(f"{room}.health").checks())
    return found


def doctor_command(
    as_json: bool = typer.Option(False, "--json", help="Print the checks as JSON and nothing else."),
) -> None:
    """Print each requirement, its state and the cure. Exits 1 where one does not hold."""
    found = gather()
    if as_json:
        keys = ("name", "ok", "state", "cure")
        typer.echo(json.dumps([dict(zip(keys, check, strict=True)) for check in found], indent=1))
    else:
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table("", "requirement", "state", "what to do", box=None, pad_edge=False)
        for name, ok, state, cure in found:
            table.add_row(
                "[green]✓[/]" if ok else "[red]✗[/]", escape(name), escape(state), "" if ok else escape(cure)
            )
        Console().print(table)
    if not all(ok for _, ok, _, _ in found):
        raise typer.Exit(1)
