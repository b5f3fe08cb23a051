"""How many defects the pipeline repairs with its ranking, and with the ranking shuffled at the same budget.

    python benchmarks/repair.py tasks.jsonl --base-url http://127.0.0.1:8000/v1 --model bundled

Each task is attempted twice in a sandbox of its own and judged by the trial that `patchdeck run` uses. Prints
one line an attempt, then both counts over the same tasks.
"""

import argparse
import time
from pathlib import Path

from harness.agents.agent import Attempt, Budget, Recorder
from harness.agents.pipeline.agent import Pipeline
from harness.endpoint.endpoint import Endpoint
from rewards.code import grade
from tasks.store import load_tasks
from tasks.task import PatchTask
from tasks.trial import run_trial
from tasks.workspace import open_workspace

RUN = "benchmark-repair"


def repaired(task: PatchTask, endpoint: Endpoint | None, budget: Budget, seed: int, shuffled: bool) -> bool:
    """One attempt, judged; its line is printed."""
    recorder = Recorder()
    started = time.monotonic()
    with open_workspace(task, run_id=RUN, show_tests=True) as sandbox:
        shown = tuple(task.tests.fail_to_pass)
        given = Attempt(task, sandbox, endpoint, seed, shown, budget, recorder, shuffle_ranking=shuffled)
        outcome = Pipeline().attempt(given)
    seconds = time.monotonic() - started
    good = False
    if outcome.submission.patch:
        good = bool(grade(task, run_trial(task, outcome.submission.patch, run_id=RUN)).resolved)
    facts = recorder.facts
    print(
        f"{'shuffled' if shuffled else 'ranked':9s} {'repaired' if good else '-':9s} {task.id:40s} "
        f"{facts.get('candidates', 0):6.0f} candidates, tried{facts.get('tried', 0):3.0f}, {seconds:6.1f} s  "
        + "  ".join(f"{n[8:]} {v:.1f}" for n, v in facts.items() if n.startswith("seconds_")),
        flush=True,
    )
    if good:
        print(f"          {outcome.submission.explanation.splitlines()[0][:200]}", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--base-url", help="OpenAI-compatible endpoint; without one, no model is asked")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--budget-tests", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="task ids, separated by commas")
    options = parser.parse_args()
    endpoint = Endpoint(options.base_url, options.model) if options.base_url else None
    tasks = [t for t in load_tasks(options.tasks) if isinstance(t, PatchTask)]
    wanted = set(filter(None, options.only.split(",")))
    tasks = [t for t in tasks if not wanted or t.id in wanted]
    budget = Budget(tests=options.budget_tests)
    counts = {}
    for shuffled in (False, True):
        counts[shuffled] = sum(repaired(t, endpoint, budget, options.seed, shuffled) for t in tasks)
    print(f"repaired of {len(tasks)}: {counts[False]} with ranking, {counts[True]} with ranking shuffled")


if __name__ == "__main__":
    main()
