"""Rank: candidates in the order in which they are worth a test.

    score(c) = log P(function) + log(suspicion of its line / highest in the function)
             + log share(family) - cost(variant) + evidence + WEIGHT x gain(c)
    gain(c)  = (log-probability of the code after the edit - before it), each token of it over RATE nats,
               at least -CLIP, at most what its kind of edit can earn (see ceiling)

All but the gain come without a model. gain weighs the changed lines and two after them, given the issue, the
failing tests and the function so far, which both texts share. Attempts with noise > 0 add noise x Gumbel
to each score: taking the best then is sampling without replacement from the softmax of score / noise. Then
the order is spread, so that a budget is not spent on one line's twins. The control gives every candidate of
the same pool a seeded random place.
"""

import math
import random
from dataclasses import dataclass, replace

from harness.agents.pipeline.candidates import Scored
from harness.agents.pipeline.locate import Location
from harness.agents.pipeline.prompts import (
    MAX_CHANGED_LINES,
    after,
    changed_text,
    head,
    lines,
    preamble,
    touched,
)
from harness.agents.pipeline.weigher import Weigher

WEIGHT = 0.5
CLIP = 12.0
CEILING = 6.0
WORDY = 2.0
PLAIN = 1.0
RATE = 1.2
MANY = 4
LIKE = 0.5
NEAR = 0.1
"""nats off a candidate for each one chosen before it at its line, of its family or of another"""
DEPTH = 100
MODEL_POOL = 250
"""candidates that the model weighs at most, the most likely before it first"""
POOL_PER_TEST = 10
"""candidates worth weighing for each that may be tried"""


@dataclass(frozen=True)
class _Prompt:
    index: int
    group: tuple[str, int]
    shared: str
    old: str
    new: str


def weigh_by_model(
    pool: list[Scored], location: Location, instruction: str, weigher: Weigher, tests: int
) -> list[Scored]:
    """The pool, its most likely members with their gain. Unchanged where the endpoint can't tell.

    tests is how many of them may be tried: the fewer, the fewer are worth the model's time.
    """
    limit = min(MODEL_POOL, POOL_PER_TEST * tests)
    chosen = sorted(range(len(pool)), key=lambda i: (-pool[i].cheap, i))[:limit]
    opening = preamble(location, instruction)
    prompts = [p for i in chosen if (p := _prompt(i, pool[i], location, opening)) is not None]
    groups: dict[tuple[str, int], list[_Prompt]] = {}
    for prompt in prompts:
        groups.setdefault(prompt.group, []).append(prompt)
    weighed = list(pool)
    for key in sorted(groups, key=lambda k: min(p.index for p in groups[k])):
        group = groups[key]
        # The longest stretch of old code first: what all the others share with it need not be computed again.
        whole = max((p.shared + p.old for p in group), key=len)
        texts = list(
            dict.fromkeys([whole, *(t for p in group for t in (p.shared + p.old, p.shared + p.new))])
        )
        totals = weigher.totals(texts)
        if totals is None:
            break
        known = dict(zip(texts, totals, strict=True))
        for prompt in group:
            old, new = known[prompt.shared + prompt.old], known[prompt.shared + prompt.new]
            longer = new.tokens - old.tokens
            gain = new.log_prob - old.log_prob + RATE * longer
            scored = pool[prompt.index]
            most = ceiling(scored.candidate.family, longer)
            weighed[prompt.index] = replace(scored, gain=max(-CLIP, min(most, gain)))
    return weighed


def ceiling(family: str, longer: int) -> float:
    """The highest gain that says something for an edit, by its family and the tokens it adds.

    Any plain text is likelier than what is particular, so losing text says little; what the model wrote
    itself is likely by its making; a long addition earns by every word that repeats what stands nearby.
    """
    if longer < -1 or family == "sampled":
        return PLAIN
    return WORDY if longer > MANY else CEILING


def _prompt(index: int, scored: Scored, location: Location, opening: str) -> _Prompt | None:
    candidate = scored.candidate
    module = location.modules[candidate.path]
    suspects = [s for s in location.suspects if s.function.path == candidate.path]
    first, last = touched(module, candidate)
    holding = [s for s in suspects if s.function.first <= first <= s.function.last + 1]
    holding = [s for s in holding if s.function.name == candidate.function] or holding
    if not holding or last - first > MAX_CHANGED_LINES:
        return None
    suspect = min(holding, key=lambda s: s.function.last - s.function.first)
    end = after(module, max(last, first - 1), suspect.function.last)
    shared = opening + head(suspect, module, first)
    return _Prompt(
        index,
        (candidate.path, first),
        shared,
        lines(module, first, end),
        changed_text(module, candidate, first, end),
    )


def score(scored: Scored, weight: float = WEIGHT) -> float:
    gain = scored.gain if scored.gain is not None else -CLIP / 2
    return scored.cheap + weight * gain


def spread(ranked: list[tuple[float, Scored]], depth: int) -> list[Scored]:
    """Best first, each choice making its likes less urgent: where one fails, its twin may too."""
    left = ranked[: 4 * depth]
    chosen: list[Scored] = []
    while left and len(chosen) < depth:
        best = max(range(len(left)), key=lambda i: (left[i][0], -i))
        picked = left.pop(best)[1]
        chosen.append(picked)
        for index, (key, scored) in enumerate(left):
            other, own = scored.candidate, picked.candidate
            if (other.path, other.line) == (own.path, own.line):
                left[index] = (key - (LIKE if other.family == own.family else NEAR), scored)
    names = set(map(id, chosen))
    return [*chosen, *(s for _, s in ranked if id(s) not in names)]


def order(pool: list[Scored], *, seed: int, noise: float, shuffled: bool, weighed: bool) -> list[Scored]:
    """Best first. noise is the temperature of the choice; 0 takes the scores as they are."""
    ranked = sorted(
        pool, key=lambda s: (s.candidate.path, s.candidate.line, s.candidate.family, s.candidate.edits)
    )
    # Not for secrets: a seeded order that can be had again.
    dice = random.Random(seed)
    if shuffled:
        dice.shuffle(ranked)
        return ranked
    weight = WEIGHT if weighed else 0.0
    keys = [score(s, weight) + noise * -math.log(-math.log(max(dice.random(), 1e-12))) for s in ranked]
    return spread(sorted(zip(keys, ranked, strict=True), key=lambda pair: -pair[0]), DEPTH)
