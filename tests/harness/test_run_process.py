"""`patchdeck run` as a process of its own, on real tasks: controls, kills, and what the world does to it."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandboxes.engine import client
from sandboxes.sandbox import RUN_LABEL
from tests.harness.conftest import command, patchdeck
from tests.harness.engine_proxy import EngineProxy


def containers(run_id: str) -> list[str]:
    found = client().api.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})
    return [container["Id"] for container in found]


def attempts_kept(run: Path) -> Counter[tuple[str, int]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return Counter((e["task_id"], e["attempt"]) for e in events if e["event"] == "attempt")


def summary_of(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@contextmanager
def started(*arguments: str, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """A command under way, killed at the end where it still is."""
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(holds: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_gold_resolves_all_and_reports_are_equal_byte_for_byte(tasks_file: Path, tmp_path: Path) -> None:
    reports = []
    for number in range(3):
        runs = tmp_path / str(number)
        done = patchdeck("run", str(tasks_file), "--agent", "gold", "--runs", str(runs), "--json")
        assert done.returncode == 0, done.stderr
        made = summary_of(done)
        assert made["resolved_instances"] == made["total_instances"] == 2
        reports.append([path.read_bytes() for path in sorted(runs.glob("*/*/0/report.json"))])
    assert len(reports[0]) == 2 and reports[0] == reports[1] == reports[2]


def test_empty_resolves_none(tasks_file: Path, tmp_path: Path) -> None:
    done = patchdeck("run", str(tasks_file), "--agent", "empty", "--runs", str(tmp_path), "--json")
    made = summary_of(done)
    assert done.returncode == 0
    assert made["resolved_instances"] == 0 and made["empty_patch_instances"] == 2


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_same_command_goes_on_after_any_end(tasks_file: Path, tmp_path: Path, ended_by: int) -> None:
    run_id = f"ended-by-{ended_by}-{os.getpid()}"
    run = tmp_path / run_id
    arguments = ["run", str(tasks_file), "--agent", "gold", "--attempts", "3", "--runs", str(tmp_path)]
    arguments += ["--run-id", run_id, "--json"]
    with started(*arguments) as process:
        wait_until(lambda: list(run.glob("*/*/reward.json")) and containers(run_id), process)
        asked = time.monotonic()
        process.send_signal(ended_by)
        process.wait(30)
        assert time.monotonic() - asked < 15
    before = attempts_kept(run)
    assert 0 < len(before) < 6
    if ended_by != signal.SIGKILL:
        assert process.returncode == 130
        assert containers(run_id) == []
    done = patchdeck(*arguments)
    assert done.returncode == 0, done.stderr
    assert summary_of(done)["resolved_instances"] == 2
    assert len(attempts_kept(run)) == 6 and set(attempts_kept(run).values()) == {1}
    assert containers(run_id) == []
    assert not list(run.glob("*/.*"))


def test_nothing_is_done_twice_when_all_is_done(tasks_file: Path, tmp_path: Path) -> None:
    arguments = ["run", str(tasks_file), "--agent", "gold", "--runs", str(tmp_path), "--json"]
    first = patchdeck(*arguments)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/0/*")}
    second = patchdeck(*arguments)
    assert first.stdout == second.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*/0/*")}


def test_the_engine_gone_in_mid_run(tasks_file: Path, tmp_path: Path) -> None:
    run_id = f"engine-gone-{os.getpid()}"
    arguments = ["run", str(tasks_file), "--agent", "gold", "--attempts", "3", "--runs", str(tmp_path)]
    arguments += ["--run-id", run_id, "--workers", "1", "--json"]
    with EngineProxy() as proxy, started(*arguments, DOCKER_HOST=proxy.address) as process:
        wait_until(lambda: list((tmp_path / run_id).glob("*/*/reward.json")) and containers(run_id), process)
        proxy.stop()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    told = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(told) == 1 and "Docker engine" in told[0] and "Traceback" not in err
    assert not any(not json.loads(p.read_text())["valid"] for p in tmp_path.glob("*/*/*/reward.json"))
    done = patchdeck(*arguments)
    assert done.returncode == 0 and summary_of(done)["resolved_instances"] == 2
    assert set(attempts_kept(tmp_path / run_id).values()) == {1} and containers(run_id) == []


def test_a_full_disk(tasks_file: Path, tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small file system")
    arguments = [
        "run",
        str(tasks_file),
        "--agent",
        "gold",
        "--attempts",
        "3",
        "--runs",
        str(tmp_path),
        "--json",
    ]
    try:
        done = patchdeck(*arguments)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        assert "the disk is full" in done.stderr and done.stdout == ""
        subprocess.run(["mount", "-o", "remount,size=8m", str(tmp_path)], check=True)
        done = patchdeck(*arguments)
        assert done.returncode == 0, done.stderr
        assert summary_of(done)["resolved_instances"] == 2
        [run] = tmp_path.iterdir()
        assert len(attempts_kept(run)) == 6 and set(attempts_kept(run).values()) == {1}
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_predictions_are_scored_and_a_wrong_one_says_why(tasks_file: Path, tmp_path: Path) -> None:
    tasks = [json.loads(line) for line in tasks_file.read_text().splitlines()]
    predictions = tmp_path / "predictions.json"
    predictions.write_text(
        json.dumps({tasks[0]["id"]: tasks[0]["oracle"]["gold_patch"], tasks[1]["id"]: "no diff at all"})
    )
    done = patchdeck("grade", str(tasks_file), str(predictions), "--runs", str(tmp_path / "runs"), "--json")
    made = summary_of(done)
    assert made["resolved_ids"] == [tasks[0]["id"]] and made["unresolved_ids"] == [tasks[1]["id"]]
    reports = {
        path.parent.parent.name: json.loads(path.read_text())
        for path in (tmp_path / "runs").glob("*/*/0/report.json")
    }
    wrong = reports[tasks[1]["id"]][tasks[1]["id"]]
    assert wrong["patch_exists"] and not wrong["patch_successfully_applied"]


def test_shell_stands_at_the_base_commit(tasks_file: Path) -> None:
    task = json.loads(tasks_file.read_text().splitlines()[0])
    done = patchdeck(
        "shell", str(tasks_file), task["id"], "--tests", "hidden", "-c", "git log --oneline | wc -l; pwd"
    )
    assert done.stdout.split() == ["1", "/testbed"], done.stderr
    assert containers("shell") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--agent", "nobody"], "there is no agent 'nobody'"),
        (["--agent", "tools"], "needs --model"),
        (["--agent", "tools", "--model", "m"], "give the endpoint of m as --base-url"),
        (
            ["--agent", "tools", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"],
            "does not answer: start it",
        ),
        (["--agent", "gold", "--instance-ids", "nothing"], "has no task nothing"),
    ],
)
def test_a_mistake_is_one_sentence(tasks_file: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    done = patchdeck("run", str(tasks_file), *arguments, "--runs", str(tmp_path))
    assert done.returncode == 1 and done.stdout == ""
    assert says in done.stderr and "Traceback" not in done.stderr
