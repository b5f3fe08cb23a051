"""The funnel as it fills, on standard error."""

from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from tasks.mining.funnel import Funnel, MiningFolder, Outcome
from tasks.mining.history import Candidate
from tasks.mining.miner import Update


class Display:
    """A progress bar over the candidates, one line for each that is done; worker threads may call it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._bar = self._progress.add_task("starting", total=None)
        self._steps: dict[str, str] = {}
        self._counts = {"environments": 0, "validated": 0}

    def __enter__(self) -> "Display":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, sentence: str) -> None:
        self._progress.update(self._bar, description=escape(sentence))
        if not self._console.is_terminal:
            self._console.print(escape(sentence))

    def begin(self, seen: int, candidates: list[Candidate]) -> None:
        self._progress.update(self._bar, total=len(candidates))
        self._console.print(f"{seen} commits seen, {len(candidates)} candidates")

    def update(self, update: Update) -> None:
        commit = update.candidate.commit
        if update.outcome is None:
            self._steps[commit.id] = update.step
        else:
            self._steps.pop(commit.id, None)
            self._counts["environments"] += update.outcome.environment_built
            self._counts["validated"] += update.outcome.validated
            self._console.print(_line(update.outcome), soft_wrap=True)
            self._progress.advance(self._bar)
        running = ", ".join(f"{commit_id[:7]} {step}" for commit_id, step in sorted(self._steps.items()))
        counts = f"{self._counts['environments']} built, {self._counts['validated']} validated"
        self._progress.update(self._bar, description=escape(f"{counts} ({running})" if running else counts))

    def end(self, funnel: Funnel, folder: MiningFolder) -> None:
        self._progress.stop()
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, count in (
            ("commits seen", funnel.commits),
            ("candidates", funnel.candidates),
            ("environments built", funnel.environments),
            ("validated", funnel.validated),
            ("with a test that failed before (f2p)", funnel.with_f2p),
        ):
            table.add_row(name, str(count))
        self._console.print(table)
        self._console.print(escape(f"tasks: {folder.out}   funnel: {folder.funnel_path}"))


def _line(outcome: Outcome) -> str:
    head = f"{outcome.commit[:7]} {outcome.subject[:60]}"
    if not outcome.validated:
        return f"[red]fell[/red]      {escape(head)}: {escape(outcome.reason)}"
    origins = ", ".join(f"{count} {origin}" for origin, count in sorted(outcome.fail_to_pass.items()))
    flaky = f", {outcome.quarantined} flaky" if outcome.quarantined else ""
    return f"[green]validated[/green] {escape(head)}: {origins}, {outcome.pass_to_pass} kept{flaky}"
