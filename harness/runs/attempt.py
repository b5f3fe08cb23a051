"""One attempt: let the agent work, judge what it submits, and keep both."""

import json
import time
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.agents.agent import Agent, Attempt, Outcome, Recorder
from harness.agents.controls import KnownPatch
from harness.endpoint.endpoint import Endpoint, EndpointFault
from harness.episode import Episode, ExitStatus, Step
from harness.runs.request import RunRequest, attempt_seed, budget_of
from rewards.code import grade, invalid, swebench_report
from rewards.reward import FailureClass, Reward
from rewards.submission import Submission
from sandboxes.sandbox import SandboxFault
from tasks.task import PatchTask
from tasks.testrun import TestRun
from tasks.trial import run_trial
from tasks.workspace import open_workspace


class AgentFailed(RuntimeError):
    """The agent's own code failed: no score may come of it."""


@dataclass(frozen=True)
class Judged:
    """What one attempt came to. run is None where there was no trial."""

    episode: Episode
    reward: Reward
    run: TestRun | None

    def files(self, task: PatchTask) -> dict[str, bytes]:
        """The attempt's files by name, reward.json apart; report.json is the same for equal trials."""
        report = swebench_report(task, self.run, self.reward)
        return {
            "episode.json": self.episode.model_dump_json(indent=1).encode() + b"\n",
            "patch.diff": (self.episode.submission.patch or "").encode("utf-8", "surrogateescape"),
            "test_output.txt": (self.run.log if self.run else "").encode("utf-8", "surrogateescape"),
            "report.json": json.dumps(report, indent=1, sort_keys=True).encode() + b"\n",
        }


def make_attempt(
    task: PatchTask, attempt: int, request: RunRequest, agent: Agent | KnownPatch, endpoint: Endpoint | None
) -> Judged:
    """Attempt and judge. Faults of the sandbox and of the endpoint become a reward that is not valid."""
    started_at, started = datetime.now(UTC), time.monotonic()
    recorder = Recorder()
    reward: Reward | None = None
    run: TestRun | None = None
    try:
        outcome = _work(task, attempt, request, agent, endpoint, recorder)
    except SandboxFault as fault:
        outcome, reward = _failed(task, "infrastructure", str(fault))
    except EndpointFault as fault:
        outcome, reward = _failed(task, "endpoint", str(fault))
    except AgentFailed as fault:
        outcome, reward = _failed(task, "error", str(fault), "agent")
    seconds = time.monotonic() - started
    if reward is None:
        try:
            run = run_trial(task, outcome.submission.patch, run_id=request.run_id)
            reward = grade(task, run)
        except SandboxFault as fault:
            reward = invalid(task.id, "infrastructure", str(fault))
    episode = Episode(
        run_id=request.run_id,
        task_id=task.id,
        attempt=attempt,
        agent=agent.name,
        model=request.model,
        seed=attempt_seed(request.seed, task.id, attempt),
        failing_tests_shown=request.tests == "shown",
        calls=tuple(recorder.calls),
        steps=tuple(recorder.steps),
        exit_status=outcome.exit_status,
        exit_reason=outcome.exit_reason,
        submission=outcome.submission,
        started_at=started_at,
        seconds=round(seconds, 3),
        facts=dict(recorder.facts),
    )
    return Judged(episode, reward, run)


def _work(
    task: PatchTask,
    attempt: int,
    request: RunRequest,
    agent: Agent | KnownPatch,
    endpoint: Endpoint | None,
    recorder: Recorder,
) -> Outcome:
    if not hasattr(agent, "attempt"):
        patch = agent.patch(task)
        status: ExitStatus = "submitted" if patch and patch.strip() else "empty"
        return Outcome(Submission(task_id=task.id, patch=patch), status)
    shown = request.tests == "shown"
    with open_workspace(task, run_id=request.run_id, show_tests=shown) as sandbox:
        given = Attempt(
            task=_as_shown(task),
            sandbox=sandbox,
            endpoint=endpoint,
            seed=attempt_seed(request.seed, task.id, attempt),
            failing_tests=tuple(task.tests.fail_to_pass) if shown else None,
            budget=budget_of(request),
            recorder=recorder,
            shuffle_ranking=request.shuffle_ranking,
        )
        try:
            return agent.attempt(given)
        except (SandboxFault, EndpointFault, OSError):
            raise
        except Exception as error:
            # A defect of the agent costs this attempt its score, never the other attempts theirs.
            trace = "".join(traceback.format_exception(error))
            recorder.steps.append(Step(index=len(recorder.steps), name="error", observation=trace))
            raise AgentFailed(f"the agent {agent.name} failed: {type(error).__name__}: {error}") from error


def _as_shown(task: PatchTask) -> PatchTask:
    """The task without what no agent may know: the answer and the names of the tests."""
    blank_tests = task.tests.model_copy(
        update={"fail_to_pass": {}, "pass_to_pass": (), "quarantined": (), "files": ()}
    )
    blank_oracle = task.oracle.model_copy(update={"gold_patch": "", "test_patch": ""})
    blank_source = task.source.model_copy(update={"fix_commit": ""})
    return task.model_copy(
        update={
            "tests": blank_tests,
            "oracle": blank_oracle,
            "source": blank_source,
            "steps": (),
            "hidden_defects": (),
        }
    )


def _failed(
    task: PatchTask, status: ExitStatus, reason: str, failure: FailureClass = "infrastructure"
) -> tuple[Outcome, Reward]:
    outcome = Outcome(Submission(task_id=task.id), status, reason)
    return outcome, invalid(task.id, failure, reason)
