"""From groups of experience to the tokens that a loss may count, and a tally of what was left out."""

from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from model.rl.advantages import group_advantages
from model.rl.losses import token_weights
from model.training.log_probs import Completion
from rewards.feedback.experience import Segment
from rewards.feedback.stream import Group


class ExperienceMismatch(ValueError):
    """Experience that was not made by this network."""


@dataclass
class Tally:
    """Counts of groups by what became of them, of rollouts, and of sampled completions left out."""

    groups_used: int = 0
    groups_equal: int = 0
    groups_single: int = 0
    groups_too_few_valid: int = 0
    rollouts: int = 0
    rollouts_not_valid: int = 0
    completions_used: int = 0
    completions_without_ids: int = 0
    completions_truncated: int = 0
    completions_mixed_versions: int = 0
    completions_too_long: int = 0
    reward_sum: float = field(default=0.0, repr=False)

    @property
    def mean_reward(self) -> float | None:
        """Mean over the valid rewards; None where there is none."""
        valid = self.rollouts - self.rollouts_not_valid
        return self.reward_sum / valid if valid else None

    def counts(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "reward_sum"}


@dataclass(frozen=True)
class Batch:
    """Completions with, for each of their output tokens, the columns of a loss; all of shape [tokens].

    lengths[i] output tokens belong to completion i; weights are those of losses.token_weights, so the loss
    over all tokens is the mean over rollouts of the mean over a rollout's tokens.
    """

    completions: tuple[Completion, ...]
    lengths: tuple[int, ...]
    rollout_log_probs: Tensor
    advantages: Tensor
    weights: Tensor

    def part(self, indices: list[int]) -> "Batch":
        """The completions named, in that order, their weights scaled to add up to one again."""

        def pick(column: Tensor) -> Tensor:
            pieces = torch.split(column, list(self.lengths))
            return torch.cat([pieces[i] for i in indices]) if indices else column[:0]

        weights = pick(self.weights)
        return Batch(
            tuple(self.completions[i] for i in indices),
            tuple(self.lengths[i] for i in indices),
            pick(self.rollout_log_probs),
            pick(self.advantages),
            weights / weights.sum().clamp_min(torch.finfo(weights.dtype).tiny),
        )


def collate(
    groups: list[Group], *, vocabulary_size: int, context_length: int, keep_truncated: bool = False
) -> tuple[Batch, Tally]:
    """The batch of all groups that teach something, and what was left out.

    A completion that ended for length is left out of numerator and denominator alike (unless kept), and so
    is one whose tokens carry more than one weight version, or that this network's context can't hold.
    What counts is told by position alone, never by a token's value: the padding id may be the end's.
    Raises ExperienceMismatch where an id is outside the vocabulary.
    """
    tally = Tally()
    completions: list[Completion] = []
    sequence: list[int] = []
    log_probs: list[float] = []
    advantages: list[float] = []
    rollout_weights: list[float] = []
    for group in groups:
        rewards = [m.reward.value if m.reward.valid else None for m in group.members]
        judged = group_advantages(rewards)
        setattr(tally, f"groups_{judged.verdict}", getattr(tally, f"groups_{judged.verdict}") + 1)
        tally.rollouts += len(rewards)
        tally.rollouts_not_valid += rewards.count(None)
        tally.reward_sum += sum(r for r in rewards if r is not None)
        for member, advantage, weight in zip(group.members, judged.advantages, judged.weights, strict=True):
            if advantage == 0.0:
                continue
            used = [
                s
                for s in member.rollout.segments
                if _counts(s, tally, vocabulary_size, context_length, keep_truncated)
            ]
            for segment in used:
                completions.append(Completion(segment.prompt_ids, segment.output_ids))
                sequence += [len(rollout_weights)] * len(segment.output_ids)
                log_probs += segment.log_probs
                advantages += [advantage] * len(segment.output_ids)
            if used:
                rollout_weights.append(weight / len(group.members))
    weights = token_weights(
        torch.ones(len(sequence), dtype=torch.bool),
        torch.tensor(sequence, dtype=torch.long),
        torch.tensor(rollout_weights, dtype=torch.float32),
    )
    batch = Batch(
        tuple(completions),
        tuple(len(c.output_ids) for c in completions),
        torch.tensor(log_probs, dtype=torch.float32),
        torch.tensor(advantages, dtype=torch.float32),
        weights,
    )
    return batch, tally


def _counts(
    segment: Segment, tally: Tally, vocabulary_size: int, context_length: int, keep_truncated: bool
) -> bool:
    ids = segment.prompt_ids + segment.output_ids
    if not segment.prompt_ids or not segment.output_ids:
        tally.completions_without_ids += 1
        return False
    if min(ids) < 0 or max(ids) >= vocabulary_size:
        raise ExperienceMismatch(
            f"the experience has token id {max(ids, key=abs)}, but the network knows ids below "
            f"{vocabulary_size}: train the model that the run was made with"
        )
    if segment.truncated and not keep_truncated:
        tally.completions_truncated += 1
        return False
    if len(set(segment.weight_versions)) > 1:
        tally.completions_mixed_versions += 1
        return False
    if len(ids) > context_length:
        tally.completions_too_long += 1
        return False
    tally.completions_used += 1
    return True
