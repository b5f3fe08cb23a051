"""The Agent protocol: one attempt at one task inside one open sandbox."""

from dataclasses import dataclass, field
from typing import Protocol

from harness.endpoint.endpoint import Endpoint
from harness.episode import ExitStatus, ModelCall, Step
from rewards.submission import Submission
from sandboxes.sandbox import Sandbox
from tasks.task import PatchTask


@dataclass(frozen=True)
class Budget:
    """What one attempt may spend."""

    tests: int = 100
    """candidate patches that may be tried in the sandbox"""
    model_tokens: int = 200_000
    """tokens in and out over all model calls"""
    seconds: float = 900.0
    turns: int = 40
    """rounds of a conversation with tools"""


@dataclass
class Recorder:
    """Collects what becomes the Episode; the agent appends as it goes."""

    calls: list[ModelCall] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """What an agent is given. endpoint is None for agents that ask no model.

    failing_tests holds the ids of the tests to mend where the run shows them, else it is None; no other
    field tells an agent their names. The sandbox's tree holds the base commit, with the failing tests'
    files written in where they are shown.
    """

    task: PatchTask
    sandbox: Sandbox
    endpoint: Endpoint | None
    seed: int
    failing_tests: tuple[str, ...] | None
    budget: Budget
    recorder: Recorder
    shuffle_ranking: bool = False
    """the control for ranked agents: candidates in a seeded random order, same budget"""


@dataclass(frozen=True)
class Outcome:
    submission: Submission
    exit_status: ExitStatus
    exit_reason: str = ""


class Agent(Protocol):
    name: str
    needs_model: bool

    def attempt(self, attempt: Attempt) -> Outcome: ...
