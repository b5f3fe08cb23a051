"""Advantages within a group: how much better a rollout did than the others that answered the same task."""

import math
from dataclasses import dataclass
from typing import Literal

STD_FLOOR = 1e-2
"""Rewards are in [0, 1]. Below this spread, dividing by the spread would mostly multiply noise."""

EQUAL_WITHIN = 1e-6
"""Rewards closer than this are the same reward, computed in another order."""

Verdict = Literal["used", "equal", "single", "too_few_valid"]


@dataclass(frozen=True)
class GroupAdvantages:
    """One advantage and one weight for each member; both 0.0 for members without a valid reward.

    Weights over the valid members add up to the number of members, so that a group whose missing members
    crashed counts as much as a whole one (padding, GLM-5, arXiv 2602.15763): the padding repeats every
    valid member by the same fraction instead of choosing some.
    """

    verdict: Verdict
    advantages: tuple[float, ...]
    weights: tuple[float, ...]


def group_advantages(rewards: list[float | None]) -> GroupAdvantages:
    """Advantages (reward − mean) / max(std, STD_FLOOR), with the population's standard deviation.

    None is a reward that is not valid: it counts in no mean. A group where not more than half are valid is
    dropped, one with a single valid member or with equal rewards teaches nothing; in these cases every
    advantage is exactly 0.0. Raises ValueError for a reward that is not finite.
    """
    valid = [r for r in rewards if r is not None]
    if any(not math.isfinite(r) for r in valid):
        raise ValueError("a valid reward must be finite: mark it as not valid instead")
    nothing = (0.0,) * len(rewards)
    if 2 * len(valid) <= len(rewards):
        return GroupAdvantages("too_few_valid", nothing, nothing)
    weights = tuple(0.0 if r is None else len(rewards) / len(valid) for r in rewards)
    if len(valid) == 1:
        return GroupAdvantages("single", nothing, weights)
    if max(valid) - min(valid) <= EQUAL_WITHIN:
        return GroupAdvantages("equal", nothing, weights)
    mean = math.fsum(valid) / len(valid)
    std = math.sqrt(math.fsum((r - mean) ** 2 for r in valid) / len(valid))
    scale = max(std, STD_FLOOR)
    return GroupAdvantages("used", tuple(0.0 if r is None else (r - mean) / scale for r in rewards), weights)
