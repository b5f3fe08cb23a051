"""Whole repairs in real containers, with a model over real HTTP."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.agents.agent import Attempt, Budget, Outcome, Recorder
from harness.agents.pipeline.agent import Pipeline
from harness.agents.pipeline.locate import locate
from harness.agents.pipeline.probing import Prober
from harness.endpoint.endpoint import Endpoint
from rewards.code import grade
from tasks.store import load_tasks
from tasks.task import PatchTask
from tasks.trial import run_trial
from tasks.workspace import open_workspace

spec = importlib.util.spec_from_file_location("word_model", Path(__file__).with_name("word_model.py"))
assert spec and spec.loader
word_model = importlib.util.module_from_spec(spec)
spec.loader.exec_module(word_model)


@pytest.fixture(scope="module")
def tasks(tasks_file: Path) -> list[PatchTask]:
    """The mean that divides by one, then the clamp without an upper bound."""
    return [task for task in load_tasks(tasks_file) if isinstance(task, PatchTask)]


@contextmanager
def endpoint(*, scores: bool) -> Iterator[Endpoint]:
    server = word_model.serve(scores=scores)
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", "words", "none")
    finally:
        server.shutdown()
        server.server_close()


def attempt(task: PatchTask, endpoint: Endpoint | None, recorder: Recorder, tests: int = 30) -> Outcome:
    with open_workspace(task, run_id="test-pipeline", show_tests=True) as sandbox:
        shown = tuple(task.tests.fail_to_pass)
        return Pipeline().attempt(Attempt(task, sandbox, endpoint, 0, shown, Budget(tests=tests), recorder))


def test_the_defect_is_located_in_a_real_container(tasks: list[PatchTask]) -> None:
    clamp = tasks[1]
    with open_workspace(clamp, run_id="test-pipeline", show_tests=True) as sandbox:
        found = locate(Prober(sandbox, clamp), tuple(clamp.tests.fail_to_pass))
    assert found.suspects[0].function.name == "clamp"
    assert set(found.suspects[0].lines) == {2}
    assert found.baseline["test_shelf.py::test_inside"] == "passed"
    assert "5" in found.expected and "test_above" in found.test_source


def test_without_failing_tests_the_issue_and_its_tests_speak(tasks: list[PatchTask]) -> None:
    with open_workspace(tasks[0], run_id="test-pipeline", show_tests=False) as sandbox:
        found = locate(Prober(sandbox, tasks[0]), None)
    assert found.suspects[0].function.name == "mean"
    assert found.failing == []


@pytest.mark.parametrize(
    ("which", "scores"), [(0, True), (1, True), (1, False)], ids=["mean", "clamp", "clamp, sampling only"]
)
def test_a_defect_is_repaired(tasks: list[PatchTask], which: int, scores: bool) -> None:
    recorder = Recorder()
    with endpoint(scores=scores) as model:
        outcome = attempt(tasks[which], model, recorder, tests=60)
    assert outcome.exit_status == "submitted", outcome.exit_reason
    reward = grade(tasks[which], run_trial(tasks[which], outcome.submission.patch, run_id="test-pipeline"))
    assert reward.resolved
    names = [step.name for step in recorder.steps]
    assert names[:3] == ["locate", "patch", "rank"] and names[-1] == "explain" and "test" in names
    assert recorder.facts["rank_of_first_passing"] == recorder.facts["tried"]
    assert len({call.id for call in recorder.calls}) == len(recorder.calls)
    assert any(call.purpose == "act" for call in recorder.calls)
    ranked = next(step for step in recorder.steps if step.name == "rank")
    assert ("by the model" if scores else "gives no log-probabilities") in ranked.argument


def test_a_spent_budget_leaves_the_tree_as_it_was(tasks: list[PatchTask]) -> None:
    recorder = Recorder()
    task = tasks[0]
    with open_workspace(task, run_id="test-pipeline", show_tests=True) as sandbox:
        before = sandbox.read("/testbed/shelf.py")
        given = Attempt(
            task, sandbox, None, 3, tuple(task.tests.fail_to_pass), Budget(tests=2), recorder, True
        )
        outcome = Pipeline().attempt(given)
        assert sandbox.read("/testbed/shelf.py") == before
    assert outcome.exit_status == "budget" and outcome.submission.patch is None
    assert recorder.facts["tried"] == 2
