"""One update of the weights from a run's experience: read, train, write the checkpoint and its log."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from model.rl.batch import Tally, collate
from model.rl.trainer import Progress, TrainerSettings, TrainReport, train
from model.rl.training_log import TrainingLog
from rewards.feedback.stream import Group, Stream


class NoExperience(RuntimeError):
    """The folder holds no complete group."""


@dataclass(frozen=True)
class Update:
    """What came of it. weight_version and report are None where there was nothing to learn."""

    tally: Tally
    started_from: str
    weight_version: str | None
    report: TrainReport | None
    groups: tuple[Group, ...]
    foreign_versions: tuple[str, ...]
    """versions that sampled the experience, where the training's own is not among them"""


def read_groups(experience: Path) -> list[Group]:
    """The complete groups not yet acknowledged. Raises NoExperience where there is none."""
    stream = Stream(experience)
    groups = stream.read()
    if groups:
        return groups
    if not stream.path.exists():
        raise NoExperience(
            f"there is no experience in {experience}: make a run with an agent and an endpoint that returns "
            "token ids, as the bundled model's does"
        )
    if waiting := len(stream.waiting()):
        raise NoExperience(
            f"{waiting} rollouts in {experience} still wait for their reward: finish the run first"
        )
    raise NoExperience(f"the experience in {experience} has all been used: make a new run")


def update_weights(
    groups: list[Group],
    *,
    weights: Path,
    out: Path,
    log: TrainingLog,
    settings: TrainerSettings,
    keep_truncated: bool = False,
    progress: Progress = lambda what, share: None,
) -> Update:
    """Train the weights on the groups and write the checkpoint folder `out`; none where nothing is learned.

    Raises what loading, training and writing raise: CheckpointError, ExperienceMismatch, TrainingDiverged.
    """
    torch.manual_seed(settings.seed)
    progress("loading weights", 0.0)
    checkpoint = load_checkpoint(weights)
    batch, tally = collate(
        groups,
        vocabulary_size=checkpoint.config.vocabulary_size,
        context_length=checkpoint.config.context_length,
        keep_truncated=keep_truncated,
    )
    facts = {"from": checkpoint.weight_version, "mean_reward": tally.mean_reward, **tally.counts()}
    sampled_from = {
        version
        for group in groups
        for member in group.members
        for segment in member.rollout.segments
        for version in segment.weight_versions
    }
    foreign = () if checkpoint.weight_version in sampled_from else tuple(sorted(sampled_from))
    if not batch.completions:
        log.write("nothing_to_learn", reason=why_nothing(tally), **facts)
        return Update(tally, checkpoint.weight_version, None, None, tuple(groups), foreign)
    log.write(
        "start",
        learning_rate=settings.learning_rate,
        precision="bfloat16" if settings.bfloat16 else "float32",
        seed=settings.seed,
        **facts,
    )
    model = checkpoint.module()
    report = train(model, batch, settings, progress)
    progress("writing weights", 1.0)
    tensors = model.state_dict()
    version = f"grpo-{tensor_digest(tensors)[:12]}"
    save_checkpoint(
        out,
        config=checkpoint.config,
        vocabulary=checkpoint.vocabulary,
        tensors=tensors,
        weight_version=version,
    )
    for step in report.steps:
        log.write("step", **asdict(step))
    log.write(
        "end",
        weight_version=version,
        checkpoint=out.name,
        portions=report.portions,
        positive_log_prob_before=report.positive_before,
        positive_log_prob_after=report.positive_after,
        negative_log_prob_before=report.negative_before,
        negative_log_prob_after=report.negative_after,
    )
    return Update(tally, checkpoint.weight_version, version, report, tuple(groups), foreign)


def why_nothing(tally: Tally) -> str:
    """One sentence on why no weights changed."""
    groups = tally.groups_used + tally.groups_equal + tally.groups_single + tally.groups_too_few_valid
    if tally.groups_used:
        reasons = (
            (tally.completions_truncated, "ended for length"),
            (tally.completions_without_ids, "have no token ids"),
            (tally.completions_mixed_versions, "mix weight versions"),
            (tally.completions_too_long, "are longer than the context"),
        )
        told = ", ".join(f"{count} {what}" for count, what in reasons if count)
        return (
            "nothing to learn: no sampled completion of the unequal groups can be used "
            f"({told or 'there is none'})"
        )
    return (
        f"nothing to learn: none of the {groups} groups has unequal rewards ({tally.groups_equal} equal, "
        f"{tally.groups_single} with one member, {tally.groups_too_few_valid} with too few valid rewards)"
    )


def tensor_digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, shapes and float32 bytes, in order of name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
    return digest.hexdigest()
