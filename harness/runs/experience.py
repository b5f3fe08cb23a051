"""An attempt as experience: its sampled completions, and the reward that they earned."""

from datetime import UTC, datetime
from pathlib import Path

from harness.episode import Episode, ModelCall
from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import Stream
from rewards.reward import Reward


def append_experience(stream: Stream, episode: Episode, reward: Reward) -> None:
    """Append the attempt's rollout and reward; nothing where it sampled nothing, or where they are there."""
    rollout = rollout_of(episode)
    if rollout is not None:
        stream.append(rollout, reward_of(episode, reward))


def append_missing(stream: Stream, attempt_folders: list[Path]) -> None:
    """Append what a writer killed between an attempt's folder and its experience left out."""
    for folder in attempt_folders:
        episode = Episode.model_validate_json((folder / "episode.json").read_bytes())
        append_experience(stream, episode, Reward.model_validate_json((folder / "reward.json").read_bytes()))


def rollout_of(episode: Episode) -> Rollout | None:
    """The attempt's sampled completions as a Rollout; None where no call carries the ids it was made of.

    Calls that only read log-probabilities are no actions. Attempts at one task, with its failing tests shown
    or hidden alike, form a group.
    """
    segments = tuple(_segment(call) for call in episode.calls if _is_action(call))
    if not segments:
        return None
    return Rollout(
        id=rollout_id(episode),
        group=f"{episode.task_id}/{'shown' if episode.failing_tests_shown else 'hidden'}",
        task_id=episode.task_id,
        model=episode.model,
        segments=segments,
        created_at=episode.started_at,
    )


def reward_of(episode: Episode, reward: Reward) -> RewardRecord:
    return RewardRecord(
        rollout_id=rollout_id(episode),
        value=reward.value,
        valid=reward.valid,
        scorer_digest=reward.scorer_digest,
        components={c.name: c.score for c in reward.components if c.score is not None},
        created_at=datetime.now(UTC),
    )


def rollout_id(episode: Episode) -> str:
    return f"{episode.run_id}/{episode.task_id}/{episode.attempt}"


def _is_action(call: ModelCall) -> bool:
    return (
        call.purpose == "act"
        and bool(call.prompt_ids)
        and bool(call.output_ids)
        and len(call.output_ids) == len(call.log_probs) == len(call.weight_versions)
    )


def _segment(call: ModelCall) -> Segment:
    return Segment(
        prompt_ids=call.prompt_ids,
        output_ids=call.output_ids,
        log_probs=call.log_probs,
        weight_versions=call.weight_versions,
        temperature=call.sampling.temperature,
        top_p=call.sampling.top_p,
        seed=call.sampling.seed,
        truncated=call.finish_reason == "length",
    )
