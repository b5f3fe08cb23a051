"""Log-probabilities of whole texts from the endpoint, counted against the budget and kept as score calls."""

import time
from dataclasses import dataclass

from harness.agents.agent import Budget, Recorder
from harness.endpoint.endpoint import Endpoint
from harness.episode import ModelCall


@dataclass(frozen=True)
class Total:
    log_prob: float
    """sum over the text's tokens, natural logarithm"""
    tokens: int


class Weigher:
    """Asks for texts' log-probabilities; None for good once the endpoint can't or the budget is spent."""

    def __init__(self, endpoint: Endpoint | None, budget: Budget, recorder: Recorder, until: float) -> None:
        self.endpoint = endpoint
        self.budget = budget
        self.recorder = recorder
        self.until = until
        self.able = endpoint is not None
        self.tokens = 0
        self.seconds = 0.0
        self.reason = "" if endpoint is not None else "no endpoint"

    def totals(self, texts: list[str]) -> list[Total] | None:
        """One Total a text, in order. until is a time.monotonic() after which no request is begun."""
        if not self.able or self.endpoint is None:
            return None
        spent = sum(c.prompt_tokens + c.output_tokens for c in self.recorder.calls)
        if time.monotonic() > self.until or spent > self.budget.model_tokens:
            self.able, self.reason = False, "the share of the budget for ranking was spent"
            return None
        started = time.monotonic()
        answer = self.endpoint.log_probs(texts)
        seconds = time.monotonic() - started
        self.seconds += seconds
        if answer is None:
            self.able, self.reason = False, "the endpoint gives no log-probabilities of given text"
            return None
        totals = [Total(sum(value for _, value in tokens), len(tokens)) for tokens in answer]
        self.tokens += sum(t.tokens for t in totals)
        self.recorder.calls.append(
            ModelCall(
                id=f"score-{len(self.recorder.calls)}",
                purpose="score",
                model=self.endpoint.model,
                prompt="\n\x1e\n".join(texts)[:4000],
                prompt_tokens=sum(t.tokens for t in totals),
                seconds=seconds,
            )
        )
        return totals
