"""The Episode contract: what one agent did on one task."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from rewards.submission import Submission

CallPurpose = Literal["act", "score"]
ExitStatus = Literal["submitted", "empty", "budget", "timeout", "infrastructure", "endpoint", "error"]


class Contract(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sampling(Contract):
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 0
    seed: int | None = None
    stop: tuple[str, ...] = ()


class ModelCall(Contract):
    """One request to a model endpoint: "act" is a sampled completion, "score" reads log-probabilities.

    Ids, log-probabilities and weight versions are empty where the endpoint gave none; weight_versions has
    one entry for each output id.
    """

    id: str
    parent: str | None = None
    purpose: CallPurpose
    model: str
    prompt: str = Field("", description="the text sent, or the messages as JSON")
    output: str = ""
    prompt_ids: tuple[int, ...] = ()
    output_ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    weight_versions: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    finish_reason: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class Step(Contract):
    """One thing the agent did and what it saw: a tool call, a test, a stage of the pipeline."""

    index: int
    name: str = Field(description="locate, patch, test, explain, or the tool's name")
    argument: str = ""
    observation: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    calls: tuple[str, ...] = Field((), description="ids of the model calls made in this step")


class Episode(Contract):
    schema_version: Literal[1] = 1
    run_id: str
    task_id: str
    attempt: int
    agent: str
    model: str
    seed: int
    failing_tests_shown: bool
    calls: tuple[ModelCall, ...] = ()
    steps: tuple[Step, ...] = ()
    exit_status: ExitStatus
    exit_reason: str = ""
    submission: Submission
    started_at: AwareDatetime
    seconds: float
    facts: dict[str, float] = Field(default_factory=dict, description="numbers worth charting, by name")
