"""The Experience contract: a rollout and its reward, two records joined by an id."""

import math
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator


class Contract(BaseModel):
    """Infinities are written as strings: JSON has no number for a log-probability of minus infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Segment(Contract):
    """One sampled completion: the ids that went in, the ids that came out, and how each was drawn.

    log_probs are those of the distribution sampled from at temperature 1 before any top-k or top-p
    (natural logarithm), one for each output id; weight_versions likewise.
    """

    prompt_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    weight_versions: tuple[str, ...]
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    truncated: bool = Field(False, description="ended for length, not by a stop of its own")

    @model_validator(mode="after")
    def _lengths_agree(self) -> "Segment":
        if not len(self.output_ids) == len(self.log_probs) == len(self.weight_versions):
            raise ValueError("output_ids, log_probs and weight_versions differ in length")
        return self


class Rollout(Contract):
    """One attempt's sampled completions. Rollouts with one group id answer the same task."""

    schema_version: Literal[1] = 1
    record: Literal["rollout"] = "rollout"
    id: str
    group: str
    task_id: str
    model: str
    segments: tuple[Segment, ...]
    created_at: AwareDatetime


class RewardRecord(Contract):
    """The reward of a rollout, which may come hours later. value is None where it is not valid."""

    schema_version: Literal[1] = 1
    record: Literal["reward"] = "reward"
    rollout_id: str
    value: float | None
    valid: bool
    scorer_digest: str
    components: dict[str, float] = Field(default_factory=dict)
    created_at: AwareDatetime

    @model_validator(mode="after")
    def _value_follows_validity(self) -> "RewardRecord":
        if self.valid != (self.value is not None and math.isfinite(self.value)):
            raise ValueError("a valid reward has a finite value, and one that is not valid has none")
        if not self.valid and self.value is not None:
            raise ValueError("a reward that is not valid has no value")
        return self


class Experience(Contract):
    """A rollout joined with its reward."""

    rollout: Rollout
    reward: RewardRecord


def utc(moment: datetime) -> datetime:
    """The same moment in UTC. Raises ValueError for a naive datetime."""
    if moment.tzinfo is None:
        raise ValueError("a datetime without a zone can't be placed: give it one")
    return moment.astimezone(UTC)
