"""Updates of a small network: what rises, what is written, what is said where there is nothing to learn."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from model.architectures.llama import Llama, LlamaConfig
from model.checkpoints.checkpoint import Vocabulary, load_checkpoint, save_checkpoint
from model.rl.trainer import TrainerSettings, completion_log_probs, train
from model.rl.update import NoExperience, read_groups, tensor_digest
from model.training.log_probs import Completion
from patchdeck.cli import application
from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import Stream

NOW = datetime(2026, 5, 1, tzinfo=UTC)
CONFIG = LlamaConfig(
    vocabulary_size=23,
    hidden_size=32,
    feed_forward_size=48,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=8,
    context_length=64,
    rope_theta=10000.0,
    norm_eps=1e-5,
)
VOCABULARY = Vocabulary(
    pre_tokenizer="none",
    tokens=tuple(f"t{n}" for n in range(23)),
    merges=(),
    special_ids=(2,),
    bos_id=1,
    eos_id=2,
    padding_id=2,
    add_bos=False,
    chat_template=None,
)
PROMPT = (5, 9, 3, 7)
OUTPUTS = ((4, 2), (6, 8, 2), (4, 6, 2), (11, 2))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    tensors = Llama(CONFIG).state_dict()
    return save_checkpoint(
        tmp_path / "weights", config=CONFIG, vocabulary=VOCABULARY, tensors=tensors, weight_version="w0"
    )


def write_run(runs: Path, weights: Path, rewards: list[float | None], **segment: object) -> list[Completion]:
    """A run of one group, its tokens as the network itself would have sampled them."""
    model = load_checkpoint(weights).module()
    completions = [Completion(PROMPT, output) for output in OUTPUTS[: len(rewards)]]
    found = completion_log_probs(model, completions)
    stream = Stream(runs / "r" / "experience")
    for n, (completion, log_probs, value) in enumerate(zip(completions, found, rewards, strict=True)):
        sampled = Segment.model_validate(
            {
                "prompt_ids": completion.prompt_ids,
                "output_ids": completion.output_ids,
                "log_probs": tuple(log_probs.tolist()),
                "weight_versions": ("w0",) * len(completion.output_ids),
                **segment,
            }
        )
        stream.append(
            Rollout(id=f"a{n}", group="g", task_id="g", model="m", segments=(sampled,), created_at=NOW),
            RewardRecord(
                rollout_id=f"a{n}", value=value, valid=value is not None, scorer_digest="d", created_at=NOW
            ),
        )
    return completions


def patchdeck_train(runs: Path, weights: Path, *more: str) -> str:
    arguments = [
        "train",
        "--from",
        "r",
        "--runs",
        str(runs),
        "--weights",
        str(weights),
        "--lr",
        "1e-3",
        *more,
    ]
    result = CliRunner().invoke(application(arguments), arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def events(runs: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (runs / "r" / "training.jsonl").read_text().splitlines()]


def mean_log_prob(weights: Path, completion: Completion) -> float:
    return float(completion_log_probs(load_checkpoint(weights).module(), [completion])[0].mean())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_rewarded_tokens_rise_and_the_version_changes(tmp_path: Path, weights: Path, precision: str) -> None:
    completions = write_run(tmp_path, weights, [0.0, 1.0, 0.0, None])
    told = patchdeck_train(tmp_path, weights, "--precision", precision)
    new = tmp_path / "r" / "checkpoint"
    assert mean_log_prob(new, completions[1]) > mean_log_prob(weights, completions[1])
    assert mean_log_prob(new, completions[0]) < mean_log_prob(weights, completions[0])
    version = load_checkpoint(new).weight_version
    assert version.startswith("grpo-") and version in told
    start, *steps, end = events(tmp_path)
    assert start["groups_used"] == 1 and start["from"] == "w0" and start["rollouts_not_valid"] == 1
    assert [s["step"] for s in steps] == [1, 2, 3, 4] and steps[0]["gradient_norm"]
    assert float(str(end["positive_log_prob_after"])) > float(str(end["positive_log_prob_before"]))
    assert end["weight_version"] == version


def test_the_same_training_gives_the_same_weights(tmp_path: Path, weights: Path) -> None:
    write_run(tmp_path, weights, [0.0, 1.0])
    for out in ("one", "two"):
        patchdeck_train(tmp_path, weights, "--out", str(tmp_path / out))
    versions = {load_checkpoint(tmp_path / out).weight_version for out in ("one", "two")}
    assert len(versions) == 1


@pytest.mark.parametrize(
    ("rewards", "segment", "reason"),
    [
        ([0.5, 0.5], {}, "none of the 1 groups has unequal rewards (1 equal"),
        ([1.0], {}, "1 with one member"),
        ([1.0, None], {}, "1 with too few valid rewards"),
        ([1.0, 0.0], {"truncated": True}, "2 ended for length"),
    ],
)
def test_nothing_to_learn_is_said_and_writes_no_weights(
    tmp_path: Path, weights: Path, rewards: list[float | None], segment: dict[str, object], reason: str
) -> None:
    write_run(tmp_path, weights, rewards, **segment)
    told = patchdeck_train(tmp_path, weights, "--server", "http://127.0.0.1:9")
    assert told.startswith("nothing to learn") and reason in told
    assert not (tmp_path / "r" / "checkpoint").exists()
    assert [e["event"] for e in events(tmp_path)] == ["nothing_to_learn"]


def test_used_experience_is_not_used_again_where_acknowledged(tmp_path: Path, weights: Path) -> None:
    write_run(tmp_path, weights, [0.0, 1.0])
    patchdeck_train(tmp_path, weights, "--ack")
    with pytest.raises(NoExperience, match="has all been used"):
        read_groups(tmp_path / "r" / "experience")


def test_no_experience_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoExperience, match="there is no experience in"):
        read_groups(tmp_path / "r" / "experience")
    stream = Stream(tmp_path / "r" / "experience")
    stream.append(Rollout(id="a", group="g", task_id="t", model="m", segments=(), created_at=NOW))
    with pytest.raises(NoExperience, match=r"1 rollouts in .* still wait"):
        read_groups(tmp_path / "r" / "experience")


def test_a_batch_beyond_the_steps_is_told(tmp_path: Path, weights: Path) -> None:
    write_run(tmp_path, weights, [0.0, 1.0], prompt_ids=tuple(range(3, 23)) * 2)
    stream = Stream(tmp_path / "r" / "experience")
    (group,) = stream.read()
    for member in group.members:
        other = member.rollout.model_copy(
            update={
                "id": f"h{member.rollout.id}",
                "group": "h",
                "segments": (
                    member.rollout.segments[0].model_copy(update={"prompt_ids": tuple(range(22, 2, -1)) * 2}),
                ),
            }
        )
        stream.append(other, member.reward.model_copy(update={"rollout_id": other.id}))
    told = patchdeck_train(
        tmp_path, weights, "--steps", "1", "--step-tokens", "64", "--micro-tokens", "64", "--lr", "1e-4"
    )
    assert "2 portions, 1 were used" in told


def test_splitting_an_update_into_passes_changes_nothing(weights: Path, tmp_path: Path) -> None:
    write_run(tmp_path, weights, [0.0, 1.0, 0.5, 0.25])
    from model.rl.batch import collate

    batch, _ = collate(read_groups(tmp_path / "r" / "experience"), vocabulary_size=23, context_length=64)
    norms = []
    for micro in (1, 1000):
        model = load_checkpoint(weights).module()
        settings = TrainerSettings(steps=1, micro_tokens=micro, bfloat16=False)
        norms.append(train(model, batch, settings).steps[0].gradient_norm)
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)


def test_the_digest_tells_one_weight_from_another() -> None:
    one = {"a": torch.zeros(2, 3)}
    assert tensor_digest(one) == tensor_digest({"a": torch.zeros(2, 3)})
    assert tensor_digest(one) != tensor_digest({"a": torch.zeros(3, 2)})
    assert tensor_digest(one) != tensor_digest({"a": torch.full((2, 3), 1e-30)})
