"""The run: every attempt that is not done yet, by a few workers, into the store."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from harness.agents.agent import Agent
from harness.agents.controls import KnownPatch
from harness.endpoint.endpoint import Endpoint, EndpointFault
from harness.runs.attempt import Judged, make_attempt
from harness.runs.crew import Crew
from harness.runs.experience import append_experience, append_missing
from harness.runs.store import AttemptKey, RunStore
from rewards.feedback.stream import Stream
from sandboxes.sandbox import RUN_LABEL, SandboxFault
from tasks.task import PatchTask

UNWIND_S = 5.0
"""How long an interrupted run waits for its workers."""

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

    Raises RunStopped where the engine, or the endpoint, does not answer any more; attempts under way at that
    moment are kept where they still end well. Interrupted, it ends what is under way and keeps none of it.
    """
    stream = Stream(store.folder / "experience")
    if endpoint is not None:
        append_missing(stream, [store.attempt_folder(*key) for key in store.finished])

    def one(key: AttemptKey) -> Judged:
        judged = make_attempt(tasks[key[0]], key[1], store.request, agent, endpoint)
        if not judged.reward.valid and not crew.stopped:
            judged = make_attempt(tasks[key[0]], key[1], store.request, agent, endpoint)
        return judged

    def keep(key: AttemptKey, judged: Judged) -> None:
        store.keep_attempt(*key, judged.files(tasks[key[0]]), judged.reward)
        append_experience(stream, judged.episode, judged.reward)
        watch(key, judged)

    crew = Crew(one, todo, workers)
    try:
        crew.start()
        for key, judged in crew.results():
            if not judged.reward.valid:
                _still_there(endpoint, judged)
            keep(key, judged)
    except RunStopped:
        crew.stop()
        for key, judged in crew.results():
            if judged.reward.valid:
                keep(key, judged)
        raise
    except BaseException:
        crew.stop()
        _end_sandboxes(store.request.run_id)
        crew.join(UNWIND_S)
        # A worker may have gone on from its agent's sandbox to the one where it is judged.
        _end_sandboxes(store.request.run_id)
        raise


def _end_sandboxes(run_id: str) -> None:
    """Remove the run's sandboxes under the attempts under way, so that none is waited for."""
    from sandboxes.container import remove_container
    from sandboxes.engine import client
    from sandboxes.faults import translated

    # Where the engine is gone, the next command reaps what is left.
    with suppress(SandboxFault), translated("ending the sandboxes"):
        for found in client().api.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"}):
            remove_container(found["Id"])


def _still_there(endpoint: Endpoint | None, judged: Judged) -> None:
    """Raises RunStopped where the fault is not this attempt's alone: every other one would meet it too."""
    from sandboxes.engine import client
    from sandboxes.faults import translated

    again = "the same command goes on from here"
    if judged.episode.exit_status == "endpoint" and endpoint is not None:
        try:
            endpoint.check()
        except EndpointFault as fault:
            raise RunStopped(f"{fault}; {again}") from fault
    elif judged.reward.failure == "infrastructure":
        try:
            with translated("asking whether it is there"):
                client().ping()
        except SandboxFault as fault:
            raise RunStopped(f"{fault}; {again}") from fault
