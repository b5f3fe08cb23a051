"""Policy losses: pure functions over tensors that also return their metrics."""

from dataclasses import dataclass

import torch
from torch import Tensor

MAX_LOG_RATIO = 20.0
"""A ratio beyond e^±20 is clipped or cut anyway; without this ceiling exp(200) would be infinite."""


@dataclass(frozen=True)
class LossMetrics:
    """Sums over the tokens of one call, so that micro-batches add up; fractions are taken at the end."""

    tokens: int = 0
    clipped: int = 0
    """tokens whose gradient the clip on the policy ratio cut off"""
    popped: int = 0
    """tokens left out because trainer and engine disagree by more than the band"""
    not_finite: int = 0
    """tokens left out because a log-probability on record is not finite"""
    ratio_sum: float = 0.0
    mismatch_sum: float = 0.0
    """sum of |log π_train_old − log π_rollout|, in nats"""

    def __add__(self, other: "LossMetrics") -> "LossMetrics":
        return LossMetrics(
            self.tokens + other.tokens,
            self.clipped + other.clipped,
            self.popped + other.popped,
            self.not_finite + other.not_finite,
            self.ratio_sum + other.ratio_sum,
            self.mismatch_sum + other.mismatch_sum,
        )


def pop(ratio: Tensor, low: float, high: float) -> Tensor:
    """IcePop: the ratio itself inside [low, high], else 0 (GLM-5, arXiv 2602.15763)."""
    return torch.where((ratio >= low) & (ratio <= high), ratio, torch.zeros_like(ratio))


def token_weights(mask: Tensor, sequence: Tensor, sequence_weights: Tensor) -> Tensor:
    """The weight of each token in mean_i 1/|y_i| Σ_t, shape [tokens].

    mask [tokens] is True where a token counts; sequence [tokens] names the rollout that it belongs to;
    sequence_weights [rollouts] is how much each rollout counts (0 for one left out). A rollout without a
    token that counts is in no denominator. All zeros where nothing counts.
    """
    counted = torch.zeros_like(sequence_weights).index_add_(0, sequence, mask.to(sequence_weights.dtype))
    present = torch.where(counted > 0, sequence_weights, torch.zeros_like(sequence_weights))
    total = present.sum().clamp_min(torch.finfo(present.dtype).tiny)
    share = present / counted.clamp_min(1.0) / total
    return torch.where(mask, share[sequence], torch.zeros((), dtype=share.dtype))


def grpo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    rollout_log_probs: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    band: float = 2.0,
) -> tuple[Tensor, LossMetrics]:
    """GRPO with an asymmetric clip and IcePop: −Σ w · pop(ρ, 1/band, band) · min(r Â, clip(r) Â).

    All tensors have shape [tokens] and natural logarithms. log_probs are the policy's now, with gradient;
    old_log_probs the trainer's own before the first update; rollout_log_probs those on record from the
    engine that sampled; r = exp(log_probs − old), ρ = exp(old − rollout). weights are those of
    token_weights, 0 for a token that must not count; whatever stands in the other tensors there, even
    an infinity or NaN, reaches neither the loss nor its gradient. The loss is a sum: over micro-batches
    it adds up to the loss of the whole. Reference: GLM-5 (arXiv 2602.15763), reasoning RL, no KL term.
    """
    old_log_probs, rollout_log_probs = old_log_probs.detach(), rollout_log_probs.detach()
    counted = weights != 0
    finite = (
        torch.isfinite(log_probs.detach())
        & torch.isfinite(old_log_probs)
        & torch.isfinite(rollout_log_probs)
        & torch.isfinite(advantages)
    )
    used = counted & finite
    zero = torch.zeros((), dtype=log_probs.dtype)
    # Masked before the exponential: afterwards 0 · inf would be NaN in the gradient.
    change = torch.where(used, log_probs - torch.where(used, old_log_probs, zero), zero)
    mismatch = torch.where(used, old_log_probs - rollout_log_probs, zero)
    advantage = torch.where(used, advantages, zero)

    ratio = change.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    clipped_ratio = ratio.clamp(1 - clip_low, 1 + clip_high)
    gain = torch.minimum(ratio * advantage, clipped_ratio * advantage)
    importance = pop(mismatch.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp(), 1 / band, band)
    loss = -(torch.where(used, weights, zero) * importance * gain).sum()

    with torch.no_grad():
        cut = ((advantage > 0) & (ratio > 1 + clip_high)) | ((advantage < 0) & (ratio < 1 - clip_low))
        metrics = LossMetrics(
            tokens=int(counted.sum()),
            clipped=int((used & cut).sum()),
            popped=int((used & (importance == 0)).sum()),
            not_finite=int((counted & ~finite).sum()),
            ratio_sum=float(ratio[used].sum()),
            mismatch_sum=float(mismatch[used].abs().sum()),
        )
    return loss, metrics
