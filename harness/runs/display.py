"""What a person sees of a run: a bar while it goes, a table when it is done."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from harness.runs.attempt import Judged
from harness.runs.run import Watch
from harness.runs.store import AttemptKey
from harness.runs.summary import pass_at, wilson
from rewards.reward import Reward


def outcome(reward: Reward) -> str:
    if not reward.valid:
        return "not valid"
    return "resolved" if reward.resolved else "unresolved"


def _took(judged: Judged) -> str:
    agent = f"agent {judged.episode.seconds:.1f} s"
    return agent if judged.run is None else f"{agent}, tests {judged.run.seconds:.1f} s"


@contextmanager
def progress(total: int, done: int) -> Iterator[Watch]:
    """A bar on standard error, with a line for each attempt that ends."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    colours = {"resolved": "green", "unresolved": "red", "not valid": "yellow"}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("attempts", total=total, completed=done)
        counts = dict.fromkeys(colours, 0)

        def watch(key: AttemptKey, judged: Judged) -> None:
            what = outcome(judged.reward)
            counts[what] += 1
            reason = judged.reward.failure_reason or judged.episode.exit_reason
            console.print(
                f"[{colours[what]}]{what:10}[/] {key[0]} attempt {key[1]} [dim]{_took(judged)}"
                f"{' · ' + escape(reason[:100]) if reason else ''}[/]",
                highlight=False,
                soft_wrap=True,
            )
            bar.update(task, advance=1, description=f"resolved {counts['resolved']}")

        yield watch


def table(rewards: Mapping[AttemptKey, Reward], attempts: int) -> Table:
    """A row a task, a column an attempt."""
    shown = Table("task", *(f"attempt {n}" for n in range(attempts)), box=None, pad_edge=False)
    marks = {
        "resolved": "[green]resolved[/]",
        "unresolved": "[red]unresolved[/]",
        "not valid": "[yellow]not valid[/]",
    }
    for task_id in sorted({task_id for task_id, _ in rewards}):
        cells = [rewards.get((task_id, n)) for n in range(attempts)]
        shown.add_row(task_id, *("" if cell is None else marks[outcome(cell)] for cell in cells))
    return shown


def rates(rewards: Mapping[AttemptKey, Reward], attempts: int) -> str:
    """pass@1 and pass@k over the tasks, and the 95 % interval of one attempt's chance, in words."""
    figures = [
        f"pass@{k} {value:.0%}" for k in sorted({1, attempts}) if (value := pass_at(rewards, k)) is not None
    ]
    tried = [reward for reward in rewards.values() if reward.valid]
    if not tried:
        return "no attempt has a valid reward"
    low, high = wilson(sum(bool(reward.resolved) for reward in tried), len(tried))
    return f"{', '.join(figures)}; 95 % interval of an attempt's share {low:.0%} to {high:.0%}"
