"""How many defects the pipeline repairs with its ranking, and with the ranking shuffled at the same budget.

    python benchmarks/repair.py                 # the sample's twelve defects, mined first
    python benchmarks/repair.py tasks.jsonl     # your own

Both runs are `patchdeck run` with the bundled model; they stay in --runs, where `patchdeck report` shows them
beside each other. Prints one line a task, then both counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.runs.bundled import bundled_server
from patchdeck.sample.library import build


def patchdeck(*arguments: str) -> str:
    command = [sys.executable, "-m", "patchdeck.cli", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", type=Path, nargs="?")
    parser.add_argument("--budget-tests", type=int, default=100)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, bundled_server(Path(folder) / "server.log") as url:
        tasks = options.tasks
        if tasks is None:
            tasks = options.runs / "sample.jsonl"
            patchdeck("mine", str(build(Path(folder) / "stockroom")), "--fix-worded", "--out", str(tasks))
        run = ["run", str(tasks), "--agent", "pipeline", "--model", "bundled", "--base-url", url, "--json"]
        run += ["--runs", str(options.runs), "--budget-tests", str(options.budget_tests)]
        counts = {}
        for name, control in (("ranked", []), ("shuffled", ["--shuffle-ranking"])):
            run_id = f"{tasks.stem}-{name}"
            counts[name] = json.loads(patchdeck(*run, *control, "--run-id", run_id, "--new"))
            for path in sorted((options.runs / run_id).glob("*/0/episode.json")):
                facts = json.loads(path.read_bytes())["facts"]
                seconds = {
                    name: facts.get(f"seconds_{name}", 0) for name in ("locate", "patch", "rank", "test")
                }
                place, tried = facts.get("rank_of_first_passing"), facts.get("tried", 0)
                ended = f"repaired at {place:.0f}" if place else f"tried {tried:.0f}"
                print(
                    f"{name:9s} {path.parent.parent.name:32s} {facts.get('candidates', 0):6.0f} candidates, "
                    f"{ended:15s} " + "  ".join(f"{stage} {took:.1f} s" for stage, took in seconds.items())
                )
    for name, summary in counts.items():
        print(f"{name:9s} {summary['resolved_instances']} of {summary['total_instances']} resolved")


if __name__ == "__main__":
    main()
