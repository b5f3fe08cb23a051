"""The server as a process: new weights, the token, the port, signals."""

import importlib.util
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import torch

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from model.weights import ensure_weights


@pytest.fixture(scope="module")
def process_kit() -> ModuleType:
    """start and stop of the conftest beside this file."""
    spec = importlib.util.spec_from_file_location("server_conftest", Path(__file__).parent / "conftest.py")
    assert spec is not None and spec.loader is not None
    kit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kit)
    return kit


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as training writes it: the bundled weights with a small step on the last norm."""
    checkpoint = load_checkpoint(ensure_weights())
    tensors = checkpoint.floats()
    tensors["norm.weight"] = tensors["norm.weight"] * torch.linspace(0.9, 1.1, len(tensors["norm.weight"]))
    return save_checkpoint(
        tmp_path_factory.mktemp("trained") / "step-1",
        config=checkpoint.config,
        vocabulary=checkpoint.vocabulary,
        tensors=tensors,
        weight_version="step-1",
    )


def scores(url: str) -> dict[str, Any]:
    body = {"prompt": "def f(x):\n    return x", "max_tokens": 0, "echo": True, "logprobs": 1}
    answer: dict[str, Any] = httpx.post(f"{url}/completions", json=body, timeout=60).json()
    return answer


def test_new_weights_are_taken_while_a_request_is_in_flight(process_kit: ModuleType, trained: Path) -> None:
    process, url = process_kit.start()
    try:
        root = url.removesuffix("/v1")
        before = scores(url)
        flying: dict[str, Any] = {}

        def fly() -> None:
            body = {"prompt": "Once", "max_tokens": 300, "ignore_eos": True, "stream": False}
            flying.update(httpx.post(f"{url}/completions", json=body, timeout=300).json())

        thread = threading.Thread(target=fly)
        thread.start()
        taken = httpx.post(f"{root}/update_weights", json={"path": str(trained)}, timeout=300)
        assert taken.json() == {"weight_version": "step-1"}
        thread.join()
        # One sequence, one version: it finished on the weights that it began with.
        assert len(set(flying["choices"][0]["weight_versions"])) == 1
        after = scores(url)
        assert after["weight_version"] == "step-1" != before["weight_version"]
        first, second = (a["choices"][0]["logprobs"]["token_logprobs"][1:] for a in (before, after))
        assert first != second
        assert second == pytest.approx(first, abs=3)
        drawn = httpx.post(
            f"{url}/completions", json={"prompt": "a", "max_tokens": 3, "ignore_eos": True}
        ).json()
        assert drawn["choices"][0]["weight_versions"] == ["step-1"] * 3
        assert httpx.get(f"{root}/health").json()["weight_version"] == "step-1"
        wrong = httpx.post(f"{root}/update_weights", json={"path": str(trained / "nowhere")})
        assert wrong.status_code == 400
        assert "no checkpoint at" in wrong.json()["error"]["message"]
        assert scores(url)["weight_version"] == "step-1"
    finally:
        assert process_kit.stop(process) == 0


def test_a_trained_checkpoint_with_a_token_and_sigint(
    process_kit: ModuleType, trained: Path, token_file: Path
) -> None:
    process, url = process_kit.start(
        "--weights", str(trained), "--name", "mine", "--token-file", str(token_file)
    )
    try:
        assert httpx.get(f"{url.removesuffix('/v1')}/health").json()["weight_version"] == "step-1"
        refused = httpx.get(f"{url}/models")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
        assert httpx.get(f"{url}/models", headers={"Authorization": "Bearer wrong"}).status_code == 401
        allowed = httpx.get(f"{url}/models", headers={"Authorization": "Bearer s3cret"})
        assert allowed.json()["data"][0]["id"] == "mine"
    finally:
        assert process_kit.stop(process, signal.SIGINT) == 0


def fails(*options: str) -> str:
    command = [sys.executable, "-m", "patchdeck.cli", "serve", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    assert len(result.stderr.strip().splitlines()) == 1
    return result.stderr


def test_what_stops_a_start_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} on 127.0.0.1 is in use" in fails("--port", str(port))
    assert "--token-file" in fails("--host", "0.0.0.0")
    assert "can't be read" in fails("--token-file", str(tmp_path / "none"))
    assert "no checkpoint at" in fails("--port", "0", "--weights", str(tmp_path / "none"))
