"""The store after a kill: nothing is lost and nothing counts twice."""

import json
from pathlib import Path

import pytest

from harness.runs.request import RunRequest
from harness.runs.run import plan
from harness.runs.store import RunConflict, RunStore, read_events
from rewards.code import invalid
from rewards.reward import Reward

REQUEST = RunRequest(run_id="r", agent="gold", tasks_digest="t", attempts=2)
GOOD = Reward(task_id="a", value=1.0, resolved=True, scorer_digest="d")


def keep(store: RunStore, task: str, attempt: int, reward: Reward = GOOD) -> None:
    store.keep_attempt(task, attempt, {"report.json": b"{}", "patch.diff": b""}, reward)


def test_finished_attempts_are_not_planned_again(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST) as store:
        keep(store, "a", 0)
        keep(store, "b", 1, invalid("b", "infrastructure", "x"))
    with RunStore(tmp_path, REQUEST) as store:
        assert plan(store, ["a", "b"], retry_infra=False).todo == (("a", 1), ("b", 0))
        assert plan(store, ["a", "b"], retry_infra=True).todo == (("a", 1), ("b", 0), ("b", 1))


def test_killed_between_folder_and_event(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST) as store:
        keep(store, "a", 0)
    (tmp_path / "r" / "events.jsonl").unlink()
    with RunStore(tmp_path, REQUEST) as store:
        assert store.finished == {("a", 0): True}
    with RunStore(tmp_path, REQUEST):
        events = [e for e in read_events(tmp_path / "r") if e["event"] == "attempt"]
        assert len(events) == 1


def test_killed_in_the_middle_of_a_folder(tmp_path: Path) -> None:
    unfinished = tmp_path / "r" / "a" / ".0.unfinished"
    with RunStore(tmp_path, REQUEST):
        unfinished.mkdir(parents=True)
        (unfinished / "episode.json").write_text("{")
    with RunStore(tmp_path, REQUEST) as store:
        assert store.finished == {} and not unfinished.exists()


def test_killed_in_the_middle_of_an_event(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST) as store:
        keep(store, "a", 0)
    log = tmp_path / "r" / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-9])
    with RunStore(tmp_path, REQUEST) as store:
        assert store.finished == {("a", 0): True}
        keep(store, "a", 1)
    assert [e["attempt"] for e in read_events(tmp_path / "r")] == [0, 1]


def test_one_writer_a_run(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST), pytest.raises(RunConflict, match="another process is writing"):
        RunStore(tmp_path, REQUEST)


def test_another_request_does_not_mix_in(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST) as store:
        keep(store, "a", 0)
    other = REQUEST.model_copy(update={"tests": "hidden"})
    with pytest.raises(RunConflict, match="holds another run"):
        RunStore(tmp_path, other)
    with RunStore(tmp_path, other, anew=True) as store:
        assert store.finished == {}


def test_more_attempts_go_on_from_fewer(tmp_path: Path) -> None:
    with RunStore(tmp_path, REQUEST) as store:
        keep(store, "a", 0)
    with RunStore(tmp_path, REQUEST.model_copy(update={"attempts": 3})) as store:
        assert plan(store, ["a"], retry_infra=False).todo == (("a", 1), ("a", 2))
    assert json.loads((tmp_path / "r" / "run.json").read_text())["attempts"] == 3
