"""Draws a token: a function of seed, position and logits, and so independent of what else is in the batch."""

import hashlib
import secrets
from dataclasses import dataclass

import torch

FIRST_CANDIDATES = 1024
TopLogProbs = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class SamplingParameters:
    """temperature 0 takes the likeliest token (the lowest id among equals). top_k 0 means no limit."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None


@dataclass(frozen=True)
class Drawn:
    """log_prob and top are natural, of the logits at temperature 1 before any filter."""

    token: int
    log_prob: float
    top: TopLogProbs


def resolve_seed(seed: int | None, choice: int) -> bytes:
    """The key of one choice's draws; random where the request gave no seed."""
    if seed is None:
        return secrets.token_bytes(16)
    return hashlib.blake2b(f"{seed}/{choice}".encode(), digest_size=16).digest()


def uniform(key: bytes, position: int) -> float:
    """A number in [0, 1) for this position: the first 53 bits of a keyed hash, a counter-based generator."""
    digest = hashlib.blake2b(position.to_bytes(8, "little"), key=key, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / (1 << 53)


def draw(
    logits: torch.Tensor, parameters: SamplingParameters, key: bytes, position: int, top: int = 0
) -> Drawn:
    """One token from logits of shape (vocabulary,)."""
    normaliser = torch.logsumexp(logits, 0)
    if parameters.temperature == 0:
        token = int(logits.argmax())
    else:
        token = _choose(logits, parameters, uniform(key, position))
    return Drawn(token, float(logits[token] - normaliser), top_log_probs(logits - normaliser, top))


def top_log_probs(log_probs: torch.Tensor, count: int) -> TopLogProbs:
    """The likeliest tokens with their log-probabilities, best first."""
    if count == 0:
        return ()
    values, ids = log_probs.topk(min(count, len(log_probs)))
    return tuple(zip(ids.tolist(), values.tolist(), strict=True))


def _choose(logits: torch.Tensor, parameters: SamplingParameters, level: float) -> int:
    scaled = logits.double() / parameters.temperature
    if parameters.top_k == 0 and parameters.top_p >= 1:
        return _invert(torch.softmax(scaled, 0), level)
    whole = torch.logsumexp(scaled, 0)
    count = min(parameters.top_k or FIRST_CANDIDATES, len(scaled))
    values, ids = scaled.topk(count)
    if parameters.top_k:
        whole = torch.logsumexp(values, 0)
    probabilities = (values - whole).exp()
    if not parameters.top_k and float(probabilities.sum()) < parameters.top_p:
        values, ids = scaled.sort(descending=True)
        probabilities = (values - whole).exp()
    # The token that crosses top_p stays in.
    before = probabilities.cumsum(0) - probabilities
    kept = probabilities * (before < parameters.top_p)
    kept[0] = probabilities[0]
    return int(ids[_invert(kept / kept.sum(), level)])


def _invert(probabilities: torch.Tensor, level: float) -> int:
    cumulative = probabilities.cumsum(0)
    index = int(
        torch.searchsorted(cumulative, torch.tensor(level * float(cumulative[-1])).double(), right=True)
    )
    if index >= len(probabilities) or probabilities[index] == 0:
        return (
            int(probabilities.nonzero()[-1]) if index >= len(probabilities) else int(probabilities.argmax())
        )
    return index
