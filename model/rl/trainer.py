"""The trainer: GRPO updates of a float network from recorded token ids."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.architectures.llama import Llama
from model.rl.batch import Batch
from model.rl.losses import LossMetrics, grpo_loss
from model.training.log_probs import Completion, plant, trie_log_probs


class TrainingDiverged(RuntimeError):
    """A loss or a gradient is not finite; no weights were written."""


@dataclass(frozen=True)
class TrainerSettings:
    """What an update is made of. Token counts are nodes of the tries: distinct prefixes."""

    steps: int = 4
    learning_rate: float = 5e-6
    clip_low: float = 0.2
    clip_high: float = 0.28
    band: float = 2.0
    """IcePop's β: a token counts while trainer and engine agree within this factor"""
    max_gradient_norm: float = 1.0
    step_tokens: int = 2048
    """an update takes about this many tokens; a larger batch is split over the steps"""
    micro_tokens: int = 768
    """tokens in one forward and backward pass, which bounds memory"""
    bfloat16: bool = True
    """matrix products in bfloat16; the master of the weights, its sums and the optimiser stay float32"""
    seed: int = 0


@dataclass(frozen=True)
class StepReport:
    """One update. ratio and mismatch are means over the tokens that counted."""

    step: int
    loss: float
    gradient_norm: float
    tokens: int
    completions: int
    clipped_fraction: float
    popped_fraction: float
    not_finite_fraction: float
    mean_ratio: float
    mean_mismatch: float


@dataclass(frozen=True)
class TrainReport:
    """Mean log-probabilities, in nats, of the tokens of one sign of advantage, before and after; None
    where there are none. The batch was split into so many portions; those beyond the steps were not used."""

    steps: tuple[StepReport, ...]
    portions: int
    positive_before: float | None
    positive_after: float | None
    negative_before: float | None
    negative_after: float | None


Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is done, in [0, 1]."""


def train(
    model: Llama, batch: Batch, settings: TrainerSettings, progress: Progress = lambda what, share: None
) -> TrainReport:
    """Update the model in place. Raises TrainingDiverged; ValueError where the batch is empty."""
    if not batch.completions:
        raise ValueError("there is nothing to train on")
    portions = _portions(batch, settings)
    visited = portions[: settings.steps]
    # Portions that no step reaches are left out of the measurement too.
    batch = batch.part([i for portion in visited for i in portion])
    starts = [sum(map(len, visited[:n])) for n in range(len(visited))]
    local = [list(range(start, start + len(portion))) for start, portion in zip(starts, visited, strict=True)]
    passes = 2 + 3 * settings.steps / len(visited)

    old = _measure(model, batch, settings, lambda share: progress("measuring", share / passes))
    old_pieces = torch.split(old, list(batch.lengths))
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True
    )
    reports = []
    for step in range(settings.steps):
        indices = local[step % len(local)]
        done = 1 + 3 * step / len(local)
        progress(f"step {step + 1}/{settings.steps}", done / passes)
        old_here = torch.cat([old_pieces[i] for i in indices])
        reports.append(_update(model, optimiser, batch.part(indices), old_here, step, settings))
    new = _measure(model, batch, settings, lambda share: progress("measuring", 1 - (1 - share) / passes))
    positive, negative = batch.advantages > 0, batch.advantages < 0
    return TrainReport(
        tuple(reports),
        len(portions),
        _mean(old[positive]),
        _mean(new[positive]),
        _mean(old[negative]),
        _mean(new[negative]),
    )


def completion_log_probs(
    model: Llama, completions: Sequence[Completion], *, micro_tokens: int = 768, bfloat16: bool = False
) -> list[Tensor]:
    """Natural log-probabilities of each completion's output ids, without a gradient."""
    found: dict[int, Tensor] = {}
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        for trie in plant(completions, micro_tokens):
            found.update(zip(trie.members, trie_log_probs(model, trie, completions), strict=True))
    return [found[i] for i in range(len(completions))]


def _measure(
    model: Llama, batch: Batch, settings: TrainerSettings, progress: Callable[[float], None]
) -> Tensor:
    found: dict[int, Tensor] = {}
    tries = list(plant(batch.completions, settings.micro_tokens))
    for done, trie in enumerate(tries):
        progress(done / len(tries))
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=settings.bfloat16):
            found.update(zip(trie.members, trie_log_probs(model, trie, batch.completions), strict=True))
    return torch.cat([found[i] for i in range(len(batch.completions))])


def _portions(batch: Batch, settings: TrainerSettings) -> list[list[int]]:
    """Completion indices by update: tries are kept whole and dealt in a seeded order."""
    tries = list(plant(batch.completions, settings.micro_tokens))
    random.Random(settings.seed).shuffle(tries)
    portions: list[list[int]] = []
    room = 0
    for trie in tries:
        if not portions or len(trie.token) > room:
            portions.append([])
            room = settings.step_tokens
        portions[-1] += trie.members
        room -= len(trie.token)
    return portions


def _update(
    model: Llama,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    old: Tensor,
    step: int,
    settings: TrainerSettings,
) -> StepReport:
    columns = [
        torch.split(c, list(batch.lengths))
        for c in (old, batch.rollout_log_probs, batch.advantages, batch.weights)
    ]
    optimiser.zero_grad(set_to_none=True)
    total, metrics = 0.0, LossMetrics()
    for trie in plant(batch.completions, settings.micro_tokens):
        with torch.autocast("cpu", torch.bfloat16, enabled=settings.bfloat16):
            log_probs = torch.cat(trie_log_probs(model, trie, batch.completions))
        loss, found = grpo_loss(
            log_probs,
            *(torch.cat([column[i] for i in trie.members]) for column in columns),
            clip_low=settings.clip_low,
            clip_high=settings.clip_high,
            band=settings.band,
        )
        torch.autograd.backward(loss)
        total += float(loss.detach())
        metrics += found
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_gradient_norm))
    if not torch.isfinite(torch.tensor([total, norm])).all():
        raise TrainingDiverged(
            f"in step {step + 1} the loss is {total} and the gradient's norm {norm}: lower the learning rate"
        )
    optimiser.step()
    tokens = max(metrics.tokens, 1)
    finite = max(metrics.tokens - metrics.not_finite, 1)
    return StepReport(
        step + 1,
        total,
        norm,
        metrics.tokens,
        len(batch.completions),
        metrics.clipped / tokens,
        metrics.popped / tokens,
        metrics.not_finite / tokens,
        metrics.ratio_sum / finite,
        metrics.mismatch_sum / finite,
    )


def _mean(values: Tensor) -> float | None:
    finite = values[torch.isfinite(values)]
    return float(finite.mean()) if len(finite) else None
