"""Once round with the real weights: sample, reward, train, and see that what was rewarded is likelier."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from model.checkpoints.checkpoint import load_checkpoint
from model.rl.trainer import completion_log_probs
from model.training.log_probs import Completion
from model.weights import ensure_weights
from patchdeck.cli import application
from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import Stream

PROMPTS = ((1604, 314, 253, 1838, 282, 260), (504, 3575, 282, 4649, 314))
"""Ordinary ids of the vocabulary; training never asks what they mean."""


def sample(model: torch.nn.Module, prompt: tuple[int, ...], length: int, seed: int) -> tuple[int, ...]:
    generator = torch.Generator().manual_seed(seed)
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(length):
            probabilities = model(torch.tensor([ids]))[0, -1].softmax(-1)
            ids.append(int(torch.multinomial(probabilities, 1, generator=generator)))
    return tuple(ids[len(prompt) :])


def test_the_rewarded_tokens_become_likelier_and_the_others_less(tmp_path: Path) -> None:
    weights = ensure_weights()
    checkpoint = load_checkpoint(weights)
    model = checkpoint.module()
    stream = Stream(tmp_path / "r" / "experience")
    judged: dict[bool, list[Completion]] = {True: [], False: []}
    for group, prompt in enumerate(PROMPTS):
        for member in range(3):
            completion = Completion(prompt, sample(model, prompt, 8, 10 * group + member))
            (log_probs,) = completion_log_probs(model, [completion])
            good = member == 0
            judged[good].append(completion)
            segment = Segment(
                prompt_ids=prompt,
                output_ids=completion.output_ids,
                log_probs=tuple(log_probs.tolist()),
                weight_versions=(checkpoint.weight_version,) * 8,
                seed=member,
            )
            id, now = f"{group}/{member}", datetime.now(UTC)
            stream.append(
                Rollout(
                    id=id, group=f"g{group}", task_id="t", model="m", segments=(segment,), created_at=now
                ),
                RewardRecord(rollout_id=id, value=float(good), valid=True, scorer_digest="d", created_at=now),
            )
    arguments = ["train", "--from", "r", "--runs", str(tmp_path), "--steps", "3"]
    result = CliRunner().invoke(application(arguments), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output

    trained = load_checkpoint(tmp_path / "r" / "checkpoint")
    assert trained.weight_version not in ("", checkpoint.weight_version)
    after = trained.module()
    for good, completions in judged.items():
        before = torch.cat(completion_log_probs(model, completions)).mean()
        now_ = torch.cat(completion_log_probs(after, completions)).mean()
        change = float(now_ - before)
        assert change > 0.02 if good else change < 0.0, (good, change)
        assert change == pytest.approx(0.0, abs=1.0), "the clip holds an update near the policy that sampled"
