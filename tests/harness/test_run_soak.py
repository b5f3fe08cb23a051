"""`make soak`: a run killed again and again comes to what an undisturbed one comes to."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from sandboxes.engine import client
from tests.harness.conftest import command, patchdeck
from tests.harness.test_run_process import attempts_kept, containers, summary_of

KILLS = 50
ATTEMPTS = 20


def everything() -> set[str]:
    return {container["Id"] for container in client().api.containers(all=True)}


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_random_kills_change_nothing(tasks_file: Path, tmp_path: Path) -> None:
    run_id = f"soak-{os.getpid()}"
    arguments = ["run", str(tasks_file), "--agent", "gold", "--attempts", str(ATTEMPTS), "--json"]
    undisturbed = patchdeck(*arguments, "--runs", str(tmp_path / "undisturbed"))
    arguments += ["--runs", str(tmp_path / "killed"), "--run-id", run_id]
    before = everything()
    moments, kills = random.Random(7), 0
    while kills < KILLS:
        process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, 3.0))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        kills += 1
    done = patchdeck(*arguments)
    print(f"{kills} kills")
    assert kills >= 5
    assert summary_of(done) == summary_of(undisturbed)
    run = tmp_path / "killed" / run_id
    assert len(attempts_kept(run)) == 2 * ATTEMPTS and set(attempts_kept(run).values()) == {1}
    reports = {path.read_bytes() for path in run.glob("*/*/report.json")}
    assert reports == {path.read_bytes() for path in (tmp_path / "undisturbed").glob("*/*/*/report.json")}
    assert everything() <= before, "a kill left a container behind"
    assert containers(run_id) == [] and not list(run.glob("*/.*"))
