"""What a run was asked to do: run.json."""

import hashlib
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.agents.agent import Budget


class RunRequest(BaseModel):
    """Everything that decides what an attempt does, and the command that asked for it.

    Attempts, workers and the choice of instances may differ between two calls of one run: they say how much
    is done, not what.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    run_id: str
    agent: str
    model: str = ""
    base_url: str = ""
    tests: Literal["shown", "hidden"] = "shown"
    seed: int = 0
    attempts: int = Field(1, ge=1)
    shuffle_ranking: bool = False
    tool_mode: Literal["auto", "native", "text"] = "auto"
    budget: dict[str, float] = Field(default_factory=dict)
    tasks_digest: str
    predictions_digest: str = Field("", description="of the patches graded, where they were made elsewhere")
    command: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)

    def same_work(self, other: "RunRequest") -> bool:
        return self.identity() == other.identity()

    def identity(self) -> str:
        """Digest of what decides an attempt: requests that agree in it belong to one run."""
        kept = self.model_dump_json(
            include={
                "agent",
                "model",
                "tests",
                "seed",
                "shuffle_ranking",
                "tool_mode",
                "budget",
                "tasks_digest",
                "predictions_digest",
            }
        )
        return hashlib.sha256(kept.encode()).hexdigest()


def default_run_id(request: RunRequest) -> str:
    """A name that says what the run is and that the same command finds again."""
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", request.model).strip("-.")
    parts = [request.agent, model, request.tests, "shuffled" if request.shuffle_ranking else ""]
    return "-".join([*filter(None, parts), request.identity()[:8]])


def attempt_seed(seed: int, task_id: str, attempt: int) -> int:
    """The seed of one attempt, in [0, 2**31).

    The first attempt of a run with seed 0 has seed 0: agents take it as "nothing left to chance".
    """
    if seed == 0 and attempt == 0:
        return 0
    digest = hashlib.sha256(f"{seed}/{task_id}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def budget_of(request: RunRequest) -> Budget:
    kinds = {"tests": int, "model_tokens": int, "seconds": float, "turns": int}
    return Budget(**{name: kinds[name](value) for name, value in request.budget.items()})
