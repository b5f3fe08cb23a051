"""What of the experience a loss may count."""

from datetime import UTC, datetime

import pytest

from model.rl.batch import Batch, ExperienceMismatch, Tally, collate
from rewards.feedback.experience import Experience, RewardRecord, Rollout, Segment
from rewards.feedback.stream import Group

NOW = datetime(2026, 5, 1, tzinfo=UTC)
EOS = 2


def segment(output: tuple[int, ...], prompt: tuple[int, ...] = (5, 6), **more: object) -> Segment:
    fields: dict[str, object] = {"log_probs": (-1.0,) * len(output), "weight_versions": ("v",) * len(output)}
    return Segment.model_validate({"prompt_ids": prompt, "output_ids": output, **fields, **more})


def group(*members: tuple[float | None, list[Segment]]) -> Group:
    joined = []
    for n, (value, segments) in enumerate(members):
        rollout = Rollout(
            id=f"r{n}", group="g", task_id="t", model="m", segments=tuple(segments), created_at=NOW
        )
        reward = RewardRecord(
            rollout_id=f"r{n}", value=value, valid=value is not None, scorer_digest="d", created_at=NOW
        )
        joined.append(Experience(rollout=rollout, reward=reward))
    return Group("g", tuple(joined))


def batch_of(*groups: Group, keep_truncated: bool = False) -> tuple[Batch, Tally]:
    return collate(list(groups), vocabulary_size=100, context_length=8, keep_truncated=keep_truncated)


def test_only_unequal_groups_are_used() -> None:
    batch, tally = batch_of(
        group((1.0, [segment((7, EOS))]), (0.0, [segment((8, EOS))])),
        group((0.0, [segment((7, EOS))]), (0.0, [segment((8, EOS))])),
        group((1.0, [segment((7, EOS))])),
        group((1.0, [segment((7, EOS))]), (None, [segment((8, EOS))])),
    )
    assert (tally.groups_used, tally.groups_equal, tally.groups_single, tally.groups_too_few_valid) == (
        1,
        1,
        1,
        1,
    )
    assert batch.advantages.tolist() == [1.0, 1.0, -1.0, -1.0]
    assert batch.weights.tolist() == [0.25] * 4
    assert tally.rollouts_not_valid == 1 and tally.mean_reward == pytest.approx(0.5 * 4 / 6 + 1 / 6)


def test_an_end_token_inside_the_output_counts_like_any_other() -> None:
    batch, _ = batch_of(group((1.0, [segment((EOS, 0, EOS))]), (0.0, [segment((0,))])))
    assert batch.lengths == (3, 1)
    assert batch.weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_a_truncated_completion_is_in_no_denominator() -> None:
    batch, tally = batch_of(
        group((1.0, [segment((7, 8)), segment((9, 9, 9), truncated=True)]), (0.0, [segment((8,))]))
    )
    assert tally.completions_truncated == 1
    assert batch.weights.tolist() == pytest.approx([0.25, 0.25, 0.5])


def test_all_truncated_leaves_an_empty_batch() -> None:
    truncated = group((1.0, [segment((7,), truncated=True)]), (0.0, [segment((8,), truncated=True)]))
    batch, tally = batch_of(truncated)
    assert batch.completions == () and len(batch.weights) == 0 and tally.completions_truncated == 2
    kept, _ = batch_of(truncated, keep_truncated=True)
    assert kept.weights.tolist() == [0.5, 0.5]


def test_a_sample_over_two_weight_versions_is_left_out() -> None:
    mixed = segment((7, 8), weight_versions=("v", "w"))
    batch, tally = batch_of(group((1.0, [mixed, segment((9,))]), (0.0, [segment((8,))])))
    assert tally.completions_mixed_versions == 1 and batch.lengths == (1, 1)


def test_what_the_context_cannot_hold_is_left_out_whole() -> None:
    long = segment((7,) * 7)
    batch, tally = batch_of(group((1.0, [long]), (0.0, [segment((8,))])))
    assert tally.completions_too_long == 1 and batch.lengths == (1,)


def test_completions_without_ids_are_told() -> None:
    _, tally = batch_of(group((1.0, [segment((), ())]), (0.0, [segment((8,))])))
    assert tally.completions_without_ids == 1


def test_another_models_ids_are_refused() -> None:
    with pytest.raises(ExperienceMismatch, match="token id 100"):
        batch_of(group((1.0, [segment((100,))]), (0.0, [segment((8,))])))


def test_turns_are_trained_on_the_prompts_they_had() -> None:
    """A template that drops earlier reasoning makes the next prompt no continuation of the last output."""
    first, second = segment((7, 8), (5,)), segment((9,), (5, 4))
    batch, _ = batch_of(group((1.0, [first, second]), (0.0, [segment((8,))])))
    assert [(c.prompt_ids, c.output_ids) for c in batch.completions[:2]] == [((5,), (7, 8)), ((5, 4), (9,))]


def test_a_part_weighs_as_much_as_the_whole() -> None:
    batch, _ = batch_of(group((1.0, [segment((7, 8)), segment((9,))]), (0.0, [segment((8,))])))
    part = batch.part([2, 0])
    assert part.lengths == (1, 2) and float(part.weights.sum()) == pytest.approx(1.0)
    assert part.advantages.tolist() == [-1.0, 1.0, 1.0]
