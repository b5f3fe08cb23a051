"""The run: every attempt that is not done yet, by a few workers, into the store."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from harness.agents.agent import Agent
from harness.agents.controls import KnownPatch
from harness.endpoint.endpoint import Endpoint
from harness.runs.attempt import Judged, make_attempt
from harness.runs.experience import reward_of, rollout_of
from harness.runs.store import AttemptKey, RunStore
from rewards.feedback.stream import Stream
from sandboxes.sandbox import SandboxFault
from tasks.task import PatchTask

Watch = Callable[[AttemptKey, Judged], None]


class RunStopped(RuntimeError):
    """The run can't go on: the engine or the endpoint is gone. What is done is kept."""


@dataclass(frozen=True)
class Plan:
    """What is still to do, and what was found done."""

    todo: tuple[AttemptKey, ...]
    done: int


def plan(store: RunStore, task_ids: Iterable[str], *, retry_infra: bool) -> Plan:
    """The attempts without a reward; those whose reward is not valid too where they are to be retried."""
    keys = [(task_id, attempt) for task_id in task_ids for attempt in range(store.request.attempts)]
    todo = tuple(k for k in keys if k not in store.finished or (retry_infra and not store.finished[k]))
    return Plan(todo, len(keys) - len(todo))


def execute(
    store: RunStore,
    tasks: dict[str, PatchTask],
    todo: Iterable[AttemptKey],
    *,
    agent: Agent | KnownPatch,
    endpoint: Endpoint | None,
    workers: int,
    watch: Watch,
) -> None:
    """Make the attempts. A fault of the sandbox or the endpoint is tried once more before it is kept.

    Raises RunStopped where the engine, or the endpoint, does not answer any more.
    """
    stream = Stream(store.folder / "experience")
    stop = threading.Event()

    def one(key: AttemptKey) -> Judged | None:
        if stop.is_set():
            return None
        judged = make_attempt(tasks[key[0]], key[1], store.request, agent, endpoint)
        if not judged.reward.valid and not stop.is_set():
            judged = make_attempt(tasks[key[0]], key[1], store.request, agent, endpoint)
        return judged

    pool = ThreadPoolExecutor(workers, thread_name_prefix="attempt")
    try:
        waiting = iter(todo)
        running: dict[Future[Judged | None], AttemptKey] = {}
        while True:
            while len(running) < workers and (key := next(waiting, None)) is not None:
                running[pool.submit(one, key)] = key
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                key = running.pop(future)
                judged = future.result()
                if judged is None:
                    continue
                if not judged.reward.valid:
                    _still_there(endpoint, judged)
                _keep(store, stream, tasks[key[0]], key, judged)
                watch(key, judged)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _keep(store: RunStore, stream: Stream, task: PatchTask, key: AttemptKey, judged: Judged) -> None:
    rollout = rollout_of(judged.episode)
    if rollout is not None and judged.reward.valid:
        stream.append(rollout, reward_of(judged.episode, judged.reward))
    store.keep_attempt(*key, judged.files(task), judged.reward)


def _still_there(endpoint: Endpoint | None, judged: Judged) -> None:
    """Raises RunStopped where the fault is not this attempt's alone: every other one would meet it too."""
    from sandboxes.engine import client

    again = "the same command goes on from here"
    if judged.episode.exit_status == "endpoint":
        if endpoint is not None and endpoint.base_url and "does not answer" in judged.episode.exit_reason:
            raise RunStopped(f"{judged.episode.exit_reason}; {again}")
        return
    try:
        client().ping()
    except SandboxFault as fault:
        raise RunStopped(f"{fault}; {again}") from fault
    except Exception as error:
        raise RunStopped(f"the Docker engine does not answer: start it; {again}") from error
