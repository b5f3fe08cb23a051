"""What the engine is asked for and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from model.engine.prefix_cache import TokenScore
from model.engine.sampler import Drawn, SamplingParameters

FinishReason = Literal["stop", "length"]


class RequestError(ValueError):
    """A request that the engine can't serve as it stands."""


class EngineStopped(RuntimeError):
    """The engine was closed, or its thread failed, before the request was done."""


@dataclass(frozen=True)
class GenerateRequest:
    """choices sequences after one prompt, each drawn with a key of its own."""

    prompt_ids: tuple[int, ...]
    max_tokens: int
    sampling: SamplingParameters = field(default_factory=SamplingParameters)
    stop: tuple[str, ...] = ()
    top_log_probs: int = 0
    choices: int = 1
    ignore_end: bool = False


@dataclass(frozen=True)
class Progress:
    """One token of one choice: text that became safe to show (often empty), and how the token was drawn.

    finish is set with the choice's last token.
    """

    choice: int
    text: str
    drawn: Drawn
    weight_version: str
    finish: FinishReason | None
    cached_tokens: int


@dataclass(frozen=True)
class Scored:
    """Scores of each text's tokens from the second on."""

    texts: tuple[tuple[TokenScore, ...], ...]
    weight_version: str


@dataclass(frozen=True)
class Failed:
    error: Exception


GenerateListener = Callable[[Progress | Failed], None]
ScoreListener = Callable[[Scored | Failed], None]
"""Listeners are called on the engine's thread and must return at once."""
