"""The Reward contract: a value, what it is made of, and whether it may be used at all."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

FailureClass = Literal["infrastructure", "environment", "timeout", "oracle", "agent"]
Outcome = Literal["pass", "fail", "incomplete"]


class Contract(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Box(Contract):
    """A rectangle in CSS pixels of its page, origin at the page's top left."""

    x: float
    y: float
    width: float
    height: float


class Finding(Contract):
    """One rule's verdict on one element."""

    rule: str
    layer: Literal["static", "runtime", "visual"]
    outcome: Outcome
    message: str
    page: int | None = Field(None, description="1-based page; None where it concerns the whole deck")
    element: str = Field("", description="CSS path of the element")
    box: Box | None = None


class Component(Contract):
    """A named part of the value. score is None where it could not be had; then weight does not count."""

    name: str
    score: float | None = Field(ge=0, le=1)
    weight: float = Field(ge=0)
    evidence: str = ""


class Page(Contract):
    """One deck page's own score."""

    index: int = Field(ge=1)
    value: float = Field(ge=0, le=1)
    components: tuple[Component, ...] = ()
    findings: tuple[Finding, ...] = ()


class Reward(Contract):
    """value is in [0, 1] and is None exactly where the reward is not valid.

    An infrastructure fault is a reward that is not valid, with its class; it is never a low score.
    Values under different scorer digests must not be compared in silence.
    """

    schema_version: Literal[1] = 1
    task_id: str
    value: float | None = Field(ge=0, le=1)
    valid: bool = True
    failure: FailureClass | None = None
    failure_reason: str = ""
    resolved: bool | None = Field(None, description="all or nothing, for patches")
    components: tuple[Component, ...] = ()
    raw: dict[str, float] = Field(default_factory=dict, description="the verifier's own numbers")
    scorer_digest: str
    pages: tuple[Page, ...] = ()
    findings: tuple[Finding, ...] = Field((), description="findings on the deck as a whole")

    @model_validator(mode="after")
    def _value_follows_validity(self) -> "Reward":
        if self.valid == (self.value is None):
            raise ValueError("a valid reward has a value, and one that is not valid has none")
        if self.valid == (self.failure is not None):
            raise ValueError("a reward that is not valid names the class of its failure")
        return self


def weighted(components: tuple[Component, ...]) -> float:
    """Mean of the component scores by weight, those without a score left out; 0.0 where none has one."""
    counted = [(c.score, c.weight) for c in components if c.score is not None and c.weight > 0]
    total = sum(weight for _, weight in counted)
    return round(sum(score * weight for score, weight in counted) / total, 6) if total else 0.0
