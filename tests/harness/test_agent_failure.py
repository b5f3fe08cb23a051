"""A defect in an agent's own code costs its attempt the score, never the other attempts theirs."""

from pathlib import Path

from harness.agents.agent import Attempt, Outcome
from harness.runs.request import RunRequest
from harness.runs.run import execute
from harness.runs.store import RunStore, read_rewards
from harness.runs.summary import summary
from rewards.submission import Submission
from tasks.store import load_tasks
from tasks.task import PatchTask


class Stumbler:
    """Fails on one task, and does the least on any other."""

    name = "stumbler"
    needs_model = False

    def __init__(self, stumbles_on: str) -> None:
        self.stumbles_on = stumbles_on
        self.seen: list[Attempt] = []

    def attempt(self, attempt: Attempt) -> Outcome:
        self.seen.append(attempt)
        if attempt.task.id == self.stumbles_on:
            raise KeyError("a field that is not there")
        return Outcome(Submission(task_id=attempt.task.id), "empty")


def test_a_failing_agent_is_an_error_of_its_own_kind(tasks_file: Path, tmp_path: Path) -> None:
    tasks = {task.id: task for task in load_tasks(tasks_file) if isinstance(task, PatchTask)}
    first, second = tasks
    request = RunRequest(run_id="r", agent="stumbler", tasks_digest="t", tests="hidden")
    agent = Stumbler(first)
    with RunStore(tmp_path, request) as store:
        keys = [(first, 0), (second, 0)]
        execute(store, tasks, keys, agent=agent, endpoint=None, workers=1, watch=lambda key, judged: None)
    rewards = read_rewards(tmp_path / "r")
    assert rewards[first, 0].failure == "agent" and "KeyError" in rewards[first, 0].failure_reason
    assert "test_agent_failure.py" in (tmp_path / "r" / first / "0" / "episode.json").read_text()
    assert rewards[second, 0].resolved is False
    made = summary(tasks, rewards, {second})
    assert made["error_ids"] == [first] and made["infra_failure_ids"] == []
    for attempt in agent.seen:
        assert attempt.failing_tests is None and not attempt.task.tests.fail_to_pass
        assert not attempt.task.oracle.gold_patch and not attempt.task.source.fix_commit
