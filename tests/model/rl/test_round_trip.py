"""Once round with the real weights over real HTTP: serve, sample, reward, train, serve what was learned."""

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from model.weights import ensure_weights
from patchdeck.cli import application
from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import Stream

PROMPTS = ("The capital of France is", "def add(a, b):\n    return")
MEMBERS = 3


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    import socket

    ensure_weights()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "patchdeck.cli", "serve", "--port", str(port)])
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 180
    try:
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            try:
                httpx.get(f"{url}/health").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def complete(url: str, **request: object) -> dict[str, Any]:
    answer = httpx.post(f"{url}/v1/completions", json={"logprobs": 0, **request}, timeout=300)
    answer.raise_for_status()
    body: dict[str, Any] = answer.json()
    return body


def served_log_prob(url: str, completions: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> float:
    """Mean log-probability of the output ids, as the server gives them for given ids."""
    texts = [list(prompt + output) for prompt, output in completions]
    choices = complete(url, prompt=texts, echo=True, max_tokens=0)["choices"]
    found = [
        value
        for choice, (prompt, _) in zip(choices, completions, strict=True)
        for value in choice["logprobs"]["token_logprobs"][len(prompt) :]
    ]
    return sum(found) / len(found)


def sample_group(
    url: str, stream: Stream, group: int
) -> dict[bool, list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """A group's attempts, the first of them rewarded; its completions by whether they were."""
    judged: dict[bool, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {True: [], False: []}
    for member in range(MEMBERS):
        (choice,) = complete(
            url, prompt=PROMPTS[group], max_tokens=10, seed=member, return_token_ids=True, ignore_eos=True
        )["choices"]
        segment = Segment(
            prompt_ids=choice["prompt_token_ids"],
            output_ids=choice["token_ids"],
            log_probs=choice["logprobs"]["token_logprobs"],
            weight_versions=choice["weight_versions"],
            seed=member,
        )
        good = member == 0
        judged[good].append((segment.prompt_ids, segment.output_ids))
        id, now = f"{group}/{member}", datetime.now(UTC)
        stream.append(
            Rollout(id=id, group=f"g{group}", task_id="t", model="m", segments=(segment,), created_at=now),
            RewardRecord(rollout_id=id, value=float(good), valid=True, scorer_digest="d", created_at=now),
        )
    return judged


def test_the_served_log_probability_of_rewarded_tokens_rises(server: str, tmp_path: Path) -> None:
    stream = Stream(tmp_path / "r" / "experience")
    groups = [sample_group(server, stream, group) for group in range(len(PROMPTS))]
    judged = {good: [c for group in groups for c in group[good]] for good in (True, False)}
    version = httpx.get(f"{server}/health").json()["weight_version"]
    before = {good: served_log_prob(server, completions) for good, completions in judged.items()}

    arguments = ["train", "--from", "r", "--runs", str(tmp_path), "--steps", "3", "--server", f"{server}/v1"]
    result = CliRunner().invoke(application(arguments), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output

    trained = httpx.get(f"{server}/health").json()["weight_version"]
    assert trained.startswith("grpo-") and trained != version and trained in result.stdout
    after = {good: served_log_prob(server, completions) for good, completions in judged.items()}
    assert after[True] > before[True] + 0.02
    assert after[False] < before[False]
    (choice,) = complete(server, prompt=PROMPTS[0], max_tokens=4, return_token_ids=True)["choices"]
    assert set(choice["weight_versions"]) == {trained}


def test_weights_that_the_server_refuses_stay_on_disk(server: str, tmp_path: Path) -> None:
    from model.rl.delivery import DeliveryFailed, deliver

    with pytest.raises(DeliveryFailed, match="refused the weights with HTTP 400"):
        deliver(server, tmp_path / "none")
    with pytest.raises(DeliveryFailed, match="no answer from the model server"):
        deliver("http://127.0.0.1:9", tmp_path / "none")
