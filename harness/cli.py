"""`patchdeck run`, `grade`, `status` and `shell`."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.agents.agent import Agent
    from harness.agents.controls import KnownPatch
    from harness.runs.request import RunRequest
    from tasks.task import PatchTask


class NoTerminal(RuntimeError):
    """Nothing here can join a person's terminal to a sandbox."""


class Shown(StrEnum):
    shown = "shown"
    hidden = "hidden"


class ToolMode(StrEnum):
    auto = "auto"
    native = "native"
    text = "text"


RUNS = typer.Option(Path("runs"), "--runs", help="Folder that holds the runs.")
RUN_ID = typer.Option(
    "",
    "--run-id",
    help="Name of the run. [default: made from what is asked, so that the same command resumes]",
)
WORKERS = typer.Option(2, "--workers", min=1, help="Attempts under way at once.")
IDS = typer.Option("", "--instance-ids", help="Only these tasks, separated by commas.")
JSON = typer.Option(
    False, "--json", help="Print the SWE-bench-shaped summary and nothing else on standard output."
)
RETRY = typer.Option(False, "--retry-infra", help="Make attempts again that ended without a valid reward.")
NEW = typer.Option(False, "--new", help="Throw away what the run already holds.")
TASKS = typer.Argument(help="The tasks.jsonl that `patchdeck mine` wrote.")


def run_command(
    tasks: Path = TASKS,
    agent: str = typer.Option(..., "--agent", help="pipeline, tools, gold or empty."),
    model: str = typer.Option("", "--model", help="The model's name at the endpoint; `bundled` for our own."),
    base_url: str = typer.Option(
        "", "--base-url", help="The endpoint, e.g. http://127.0.0.1:8000/v1. Key: OPENAI_API_KEY."
    ),
    workers: int = WORKERS,
    attempts: int = typer.Option(1, "--attempts", min=1, help="Attempts at each task; they differ by seed."),
    instance_ids: str = IDS,
    retry_infra: bool = RETRY,
    tests: Shown = typer.Option(Shown.shown, "--tests", help="Whether the agent is shown the failing tests."),
    seed: int = typer.Option(0, "--seed", help="Seed of the run; an attempt's seed follows from it."),
    budget_tests: int = typer.Option(
        100, "--budget-tests", min=1, help="Candidate patches an attempt may try (pipeline)."
    ),
    budget_tokens: int = typer.Option(200_000, "--budget-tokens", help="Model tokens an attempt may spend."),
    budget_seconds: float = typer.Option(900, "--budget-seconds", help="Seconds an attempt may take."),
    budget_turns: int = typer.Option(40, "--budget-turns", help="Rounds of the conversation (tools)."),
    tool_mode: ToolMode = typer.Option(
        ToolMode.auto, "--tool-mode", help="How `tools` asks for actions: tool calls, or bash blocks in text."
    ),
    shuffle_ranking: bool = typer.Option(
        False, "--shuffle-ranking", help="Control for `pipeline`: same candidates, random order."
    ),
    runs: Path = RUNS,
    run_id: str = RUN_ID,
    new: bool = NEW,
    as_json: bool = JSON,
) -> None:
    """Let an agent attempt tasks, grade what it submits, and keep both.

    The same command resumes a run that was stopped. Exits 1 where attempts remain without a valid reward.

    Examples:

      patchdeck run tasks.jsonl --agent gold

      patchdeck run tasks.jsonl --agent pipeline --model bundled --attempts 2

      OPENAI_API_KEY=… patchdeck run tasks.jsonl --agent tools --model NAME --base-url https://host/v1
    """
    from harness.agents.registry import agent_named
    from harness.runs.request import RunRequest
    from harness.runs.selection import select_tasks

    known = agent_named(agent, tool_mode=tool_mode.value)
    chosen, digest = select_tasks(tasks, instance_ids)
    request = RunRequest(
        run_id=run_id,
        agent=agent,
        model=model,
        base_url=base_url,
        tests=tests.value,
        seed=seed,
        attempts=attempts,
        shuffle_ranking=shuffle_ranking,
        tool_mode=tool_mode.value,
        budget={
            "tests": budget_tests,
            "model_tokens": budget_tokens,
            "seconds": budget_seconds,
            "turns": budget_turns,
        },
        tasks_digest=digest,
        command=_command(),
        versions=_versions(),
    )
    _go(request, known, chosen, tasks, runs, workers, retry_infra, new, as_json, total=chosen)


def grade_command(
    tasks: Path = TASKS,
    predictions: Path = typer.Argument(
        help="Patches: JSON lines, a JSON list, or a JSON object by instance id."
    ),
    workers: int = WORKERS,
    instance_ids: str = IDS,
    retry_infra: bool = RETRY,
    runs: Path = RUNS,
    run_id: str = RUN_ID,
    new: bool = NEW,
    as_json: bool = JSON,
) -> None:
    """Score patches made elsewhere, as `patchdeck run` scores its own.

    Each prediction holds instance_id and model_patch. Tasks without a prediction are not submitted.
    """
    import hashlib

    from harness.agents.controls import Predictions
    from harness.runs.predictions import BadPredictions, load_predictions
    from harness.runs.request import RunRequest
    from harness.runs.selection import select_tasks

    model, patches = load_predictions(predictions)
    every, digest = select_tasks(tasks, instance_ids)
    unknown = sorted(set(patches) - set(select_tasks(tasks, "")[0]))
    if unknown:
        raise BadPredictions(
            f"{predictions} predicts {unknown[0]}, which {tasks} does not hold: give its own tasks"
        )
    chosen = {task_id: task for task_id, task in every.items() if task_id in patches}
    content = hashlib.sha256(json.dumps(patches, sort_keys=True).encode()).hexdigest()
    request = RunRequest(
        run_id=run_id,
        agent="predictions",
        model=model,
        predictions_digest=content,
        tasks_digest=digest,
        command=_command(),
        versions=_versions(),
    )
    known = Predictions(patches)
    _go(request, known, chosen, tasks, runs, workers, retry_infra, new, as_json, total=every)


def status_command(
    run: str = typer.Argument(help="A run's id or folder."),
    runs: Path = RUNS,
    as_json: bool = typer.Option(False, "--json", help="Print the figures as JSON and nothing else."),
) -> None:
    """How far a run has come: attempts done, resolved, not valid, and still to do."""
    from harness.runs.store import RunConflict, read_events, read_request, read_rewards

    folder = runs / run if (runs / run / "run.json").is_file() else Path(run)
    request = read_request(folder)
    if request is None:
        raise RunConflict(
            f"{folder} is not a run: it has no run.json; `patchdeck report` lists the runs in {runs}"
        )
    rewards = read_rewards(folder)
    asked = {name for event in read_events(folder) if event["event"] == "begin" for name in event["tasks"]}
    wanted = len(asked) * request.attempts
    figures = {
        "run_id": request.run_id,
        "agent": request.agent,
        "tests": request.tests,
        "attempts": wanted,
        "done": len(rewards),
        "resolved": sum(bool(r.resolved) for r in rewards.values()),
        "not_valid": sum(not r.valid for r in rewards.values()),
    }
    if as_json:
        typer.echo(json.dumps(figures, indent=1))
        return
    from rich.console import Console

    from harness.runs.display import rates, table

    console = Console()
    console.print(
        f"{request.run_id}: {figures['done']} of {wanted} attempts done, {figures['resolved']} resolved, "
        f"{figures['not_valid']} not valid",
        highlight=False,
    )
    console.print(table(rewards, request.attempts))
    console.print(rates(rewards, request.attempts), highlight=False)


def shell_command(
    tasks: Path = TASKS,
    instance: str = typer.Argument(help="The task's id."),
    tests: Shown = typer.Option(Shown.shown, "--tests", help="Whether the failing tests stand in the tree."),
    command: str = typer.Option("", "--command", "-c", help="Run this instead of an interactive shell."),
) -> None:
    """Stand in a task's sandbox, as an agent would: the base commit, no network, the same limits.

    The sandbox goes when you leave; nothing you change stays.
    """
    import shutil
    import subprocess

    from harness.runs.selection import select_tasks
    from tasks.workspace import open_workspace

    if shutil.which("docker") is None:
        raise NoTerminal("the shell needs Docker's own command line: install the package docker.io")

    task = select_tasks(tasks, instance)[0][instance]
    with open_workspace(task, run_id="shell", show_tests=tests is Shown.shown) as sandbox:
        terminal = ["-it"] if sys.stdin.isatty() and not command else ["-i"]
        user = ["--user", sandbox.spec.user] if sandbox.spec.user else []
        argv = ["bash", "-c", command] if command else ["bash"]
        place = ["--workdir", sandbox.spec.workdir]
        done = subprocess.run(["docker", "exec", *terminal, *user, *place, sandbox.name, *argv])
    raise typer.Exit(done.returncode)


def _go(
    request: "RunRequest",
    agent: "Agent | KnownPatch",
    chosen: "dict[str, PatchTask]",
    tasks: Path,
    runs: Path,
    workers: int,
    retry_infra: bool,
    new: bool,
    as_json: bool,
    *,
    total: "dict[str, PatchTask]",
) -> None:
    """Carry out a request, print what came of it, and exit 1 where attempts remain without a valid reward."""
    from harness.runs.perform import perform
    from harness.runs.request import default_run_id

    if not request.run_id:
        request = request.model_copy(update={"run_id": default_run_id(request)})
    done = perform(
        request,
        agent,
        chosen,
        tasks_file=tasks,
        total=total,
        runs=runs,
        workers=workers,
        retry_infra=retry_infra,
        anew=new,
    )
    if as_json:
        typer.echo(json.dumps(done.summary, indent=1))
    else:
        from rich.console import Console

        from harness.runs.display import rates, table

        console = Console()
        console.print(table(done.rewards, done.request.attempts))
        console.print(rates(done.rewards, done.request.attempts), highlight=False)
        console.print(
            f"{done.summary['resolved_instances']} of {done.summary['total_instances']} tasks resolved, "
            f"failing tests {request.tests}; `patchdeck report {request.run_id}"
            f"{'' if runs == Path('runs') else f' --runs {runs}'}` writes the report",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    if done.not_valid:
        typer.echo(
            f"{done.not_valid} attempts have no valid reward: --retry-infra makes them again", err=True
        )
        raise typer.Exit(1)


def _command() -> tuple[str, ...]:
    return ("patchdeck", *sys.argv[1:])


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    return {"patchdeck": version("patchdeck"), "python": platform.python_version()}
