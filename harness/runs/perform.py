"""Carry out a request from beginning to end: reap, open the store, serve the model, attempt, sum up."""

import signal
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from harness.agents.agent import Agent
from harness.agents.controls import KnownPatch
from harness.agents.registry import NEED_MODEL
from harness.endpoint.endpoint import Endpoint
from harness.runs.bundled import BUNDLED, bundled_server
from harness.runs.display import progress
from harness.runs.request import RunRequest
from harness.runs.run import execute, plan
from harness.runs.store import AttemptKey, RunStore, read_rewards
from harness.runs.summary import summary
from rewards.reward import Reward
from sandboxes.reaper import reap
from tasks.store import load_tasks
from tasks.task import PatchTask


class ModelMissing(ValueError):
    """The agent needs a model and the request names none, or not where it is served."""


@dataclass(frozen=True)
class Performed:
    """What came of a request; rewards are those of the tasks it chose."""

    request: RunRequest
    folder: Path
    rewards: Mapping[AttemptKey, Reward]
    summary: dict[str, Any]

    @property
    def not_valid(self) -> int:
        return sum(not reward.valid for reward in self.rewards.values())


def perform(
    request: RunRequest,
    agent: Agent | KnownPatch,
    chosen: Mapping[str, PatchTask],
    *,
    tasks_file: Path,
    total: Mapping[str, PatchTask],
    runs: Path,
    workers: int,
    retry_infra: bool,
    anew: bool,
) -> Performed:
    """Make the attempts at the chosen tasks that are not made yet, and sum the run up over `total`.

    Raises ModelMissing, EndpointFault, RunConflict, RunStopped, each with one sentence.
    """
    if request.agent in NEED_MODEL:
        _check_model(request)
    signal.signal(signal.SIGTERM, _interrupted)
    reap()
    with ExitStack() as stack:
        store = stack.enter_context(RunStore(runs, request, anew=anew))
        store.keep_tasks(load_tasks(tasks_file), tasks_file.with_suffix(".funnel.json"))
        work = plan(store, chosen, retry_infra=retry_infra)
        store.append("begin", tasks=sorted(chosen), todo=len(work.todo), command=list(request.command))
        endpoint = None
        if request.agent in NEED_MODEL and work.todo:
            url = request.base_url or stack.enter_context(bundled_server(store.folder / "server.log"))
            endpoint = Endpoint(url, request.model)
            if request.model == BUNDLED:
                endpoint = Endpoint(url, _bundled_name(endpoint))
            endpoint.check()
        with progress(len(work.todo) + work.done, work.done) as watch:
            execute(
                store, dict(chosen), work.todo, agent=agent, endpoint=endpoint, workers=workers, watch=watch
            )
        rewards = {key: reward for key, reward in read_rewards(store.folder).items() if key[0] in chosen}
        figures = summary(total, rewards, _without_patch(store, rewards))
        store.append("end", resolved=figures["resolved_instances"], total=figures["total_instances"])
        return Performed(store.request, store.folder, rewards, figures)


def _check_model(request: RunRequest) -> None:
    if not request.model:
        raise ModelMissing(f"the agent {request.agent} needs --model (`bundled` for our own)")
    if not request.base_url and request.model != BUNDLED:
        raise ModelMissing(f"give the endpoint of {request.model} as --base-url, or use --model bundled")


def _bundled_name(endpoint: Endpoint) -> str:
    """What the server of the bundled model calls it."""
    names = endpoint.models()
    return names[0] if names and BUNDLED not in names else BUNDLED


def _without_patch(store: RunStore, rewards: Mapping[AttemptKey, Reward]) -> set[str]:
    """Tasks whose every attempt submitted nothing."""
    patched = {key[0] for key in rewards if (store.attempt_folder(*key) / "patch.diff").read_bytes().strip()}
    return {task_id for task_id, _ in rewards} - patched


def _interrupted(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
